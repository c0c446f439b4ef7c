"""Col2Im and MaxUnpool, the inverses of window operators."""

from __future__ import annotations

import math

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Array, Node
from byoc_lab.importers.onnx.operators.windows import Window
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.op.tensor.shape import reshaped_to


@converts("Col2Im")
def col2im(node: Node) -> Expr:
    """Columns (batch, channels * block, blocks) are added at their pixels in the image."""
    x = node[0]
    image, block = node.integers(1, "the shape of the image"), node.integers(2, "the block")
    if image is None or block is None:
        node.fail("the shapes of image and block are missing")
    window = Window(node, block)
    batch, columns, blocks = node.shape(x)
    pads = np.array(window.pads).reshape(2, -1)
    whole = [n + int(p) for n, p in zip(image, pads.sum(axis=0), strict=True)]
    places = _places(window, whole)
    if columns % len(places) or places.shape[1] != blocks:
        node.fail(
            f"blocks of {block} give columns of {len(places)} and {places.shape[1]} blocks in an "
            f"image of {image}, found {columns} and {blocks}"
        )
    rows = batch * columns // len(places)
    updates = reshaped_to(x, (rows, places.size))
    zeros = Constant(np.zeros((rows, math.prod(whole)), node.dtype(x)))
    indices = Constant(np.broadcast_to(places.reshape(1, -1), (rows, places.size)).copy())
    summed = relay.scatter_elements(zeros, indices, updates, axis=1, reduction="add")
    found = reshaped_to(summed, (batch, columns // len(places), *whole))
    if not pads.any():
        return found
    begin = [0, 0, *pads[0].tolist()]
    end = [batch, columns // len(places), *(pads[0] + image).tolist()]
    return relay.strided_slice(found, begin, end)


def _places(window: Window, whole: list[int]) -> Array:
    """The pixel, as a flat index, of each element of the block (rows) in each block (columns)."""
    rank = len(whole)
    axes = []
    for n, k, s, d in zip(whole, window.kernel, window.strides, window.dilations, strict=True):
        starts = np.arange(0, n - (k - 1) * d, s)
        axes.append(np.arange(k)[:, None] * d + starts)
    flat = np.zeros((1,) * 2 * rank, np.int64)
    for axis, place in enumerate(axes):
        shape = [1] * 2 * rank
        shape[axis], shape[rank + axis] = place.shape
        flat = flat * whole[axis] + place.reshape(shape)
    return flat.reshape(math.prod(window.kernel), -1)


@converts("MaxUnpool")
def max_unpool(node: Node) -> Expr:
    """Writes each maximum at its flat index, zeros elsewhere; a larger output shape is padded with
    zeros at the end."""
    x = node[0]
    window = Window(node, node.attr("kernel_shape"))
    have, count = node.shape(x), len(window.kernel)
    shape = list(have[:2])
    for i, length in enumerate(have[2:]):
        pads = window.pads[i] + window.pads[count + i]
        shape.append((length - 1) * window.strides[i] - pads + window.kernel[i])
    zeros = Constant(np.zeros(math.prod(shape), node.dtype(x)))
    flat = relay.scatter_elements(zeros, relay.reshape(node[1], (-1,)), relay.reshape(x, (-1,)))
    found = reshaped_to(flat, shape)
    wanted = node.integers(2, "the shape of the result")
    if wanted is None or wanted == shape:
        return found
    if len(wanted) != len(shape) or any(w < n for w, n in zip(wanted, shape, strict=True)):
        node.fail(f"the result has the shape {shape} at least, found {wanted}")
    return relay.nn.pad(found, [(0, w - n) for w, n in zip(wanted, shape, strict=True)])
