"""Convolutions and pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.importers.pooling import pooled, positions_of_maxima, sliding_positions
from byoc_lab.relay.ir.expr import Constant, Expr

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


class Window:
    """Kernel, strides, dilations and padding of a node with a sliding window."""

    def __init__(self, node: Node, kernel: Sequence[int]):
        self.node = node
        self.kernel = [int(k) for k in kernel]
        count = len(self.kernel)
        if count not in LAYOUTS:
            node.fail(f"windows have 1, 2 or 3 dimensions, found {count}")
        self.strides = self._list("strides", count)
        self.dilations = self._list("dilations", count)
        self.auto_pad: str = node.attr("auto_pad", "NOTSET")
        if self.auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
            node.fail(f"auto_pad {self.auto_pad!r:.40} does not exist")
        pads = [int(p) for p in node.attr("pads", [0] * 2 * count)]
        if len(pads) != 2 * count:
            node.fail(f"pads must have {2 * count} numbers, found {len(pads)}")
        self.pads = pads if self.auto_pad == "NOTSET" else [0] * 2 * count

    def _list(self, name: str, count: int) -> list[int]:
        found = [int(n) for n in self.node.attr(name, [1] * count)]
        if len(found) != count:
            self.node.fail(f"{name} must have {count} numbers, found {len(found)}")
        return found

    @property
    def same(self) -> bool:
        """Whether the padding is computed from the sizes of the data (SAME)."""
        return self.auto_pad.startswith("SAME")

    def same_pads(self, sizes: Sequence[int]) -> list[int]:
        """Padding before and after each dimension that gives ceil(size / stride) results."""
        totals = []
        for size, k, s, d in zip(sizes, self.kernel, self.strides, self.dilations, strict=True):
            totals.append(max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0))
        return split_pads(totals, self.auto_pad)

    def padded(self, data: Expr, value: float = 0.0) -> Expr:
        """`data` padded for SAME; unchanged otherwise."""
        if not self.same:
            return data
        pads = self.same_pads(self.node.sizes(data))
        if not any(pads):
            return data
        half = len(self.kernel)
        width = [(0, 0), (0, 0), *zip(pads[:half], pads[half:], strict=True)]
        return relay.nn.pad(data, width, pad_value=relay.const(value, self.node.dtype(data)))

    def pooled(
        self, build: Callable[..., Expr], data: Expr, pads: Sequence[int], **options: Any
    ) -> Expr:
        """`data` pooled by this window, with the result size of ONNX Runtime in ceil mode."""
        options |= {
            "pool_size": self.kernel,
            "strides": self.strides,
            "dilation": self.dilations,
            "padding": pads,
            "layout": LAYOUTS[len(self.kernel)],
            "ceil_mode": bool(self.node.attr("ceil_mode", 0)),
        }
        return pooled(build, data, self.node.type_of(data).shape[2:], options)


def split_pads(totals: Sequence[int], auto_pad: str) -> list[int]:
    """Total padding split into the numbers before and the numbers after; an odd element is added at
    the end, or at the start."""
    small = [t // 2 for t in totals]
    large = [t - t // 2 for t in totals]
    return [*small, *large] if auto_pad == "SAME_UPPER" else [*large, *small]


def kernel_of(node: Node, weight: Expr) -> list[int]:
    """The spatial sizes of a kernel, which must equal the node's kernel_shape."""
    sizes = list(node.shape(weight, "the shape of the kernel"))[2:]
    stated = node.attr("kernel_shape", sizes)
    if list(stated) != sizes:
        node.fail(f"kernel_shape is {stated}, but the kernel has {sizes}")
    return sizes


@converts("Conv")
def conv(node: Node) -> Expr:
    data, weight = node[0], node[1]
    window = Window(node, kernel_of(node, weight))
    build = getattr(relay.nn, f"conv{len(window.kernel)}d")
    found = build(
        window.padded(data),
        weight,
        strides=window.strides,
        padding=window.pads,
        dilation=window.dilations,
        groups=node.attr("group", 1),
        channels=node.length(weight, 0),
        kernel_size=window.kernel,
    )
    return with_bias(node, found, 2)


def with_bias(node: Node, found: Expr, index: int) -> Expr:
    """An optional bias added along the channels."""
    bias = node.optional(index)
    return found if bias is None else relay.nn.bias_add(found, bias)


@converts("ConvTranspose")
def conv_transpose(node: Node) -> Expr:
    data, weight = node[0], node[1]
    window = Window(node, kernel_of(node, weight))
    groups = node.attr("group", 1)
    count = len(window.kernel)
    extra = [int(n) for n in node.attr("output_padding", [0] * count)]
    pads = window.pads
    wanted = node.attr("output_shape", None)
    if wanted is not None or window.same:
        sizes = node.sizes(data)
        if wanted is None:
            wanted = [n * s for n, s in zip(sizes, window.strides, strict=True)]
        pads, extra = _transposed_pads(window, sizes, wanted[-count:], extra)
    build = getattr(relay.nn, f"conv{count}d_transpose")
    layout = {1: "IOW", 2: "IOHW", 3: "IODHW"}[count]
    found = build(
        data,
        weight,
        strides=window.strides,
        padding=pads,
        output_padding=extra,
        dilation=window.dilations,
        groups=groups,
        channels=node.length(weight, 1) * groups,
        kernel_size=window.kernel,
        kernel_layout=layout,
    )
    return with_bias(node, found, 2)


def _transposed_pads(
    window: Window, sizes: Sequence[int], wanted: Sequence[int], extra: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Padding (and output padding) that gives the requested sizes."""
    totals = []
    more = []
    for n, s, k, d, w, e in zip(
        sizes, window.strides, window.kernel, window.dilations, wanted, extra, strict=True
    ):
        total = s * (n - 1) + e + (k - 1) * d + 1 - w
        totals.append(max(total, 0))
        more.append(e + max(-total, 0))
    # With NOTSET the odd element is added first, unlike SAME_UPPER.
    upper = window.auto_pad == "SAME_UPPER"
    return split_pads(totals, "SAME_UPPER" if upper else "SAME_LOWER"), more


@converts("MaxPool")
def max_pool(node: Node) -> Expr | tuple[Expr, Expr]:
    data, dtype = node[0], node.dtype(node[0])
    window = Window(node, node.attr("kernel_shape"))
    lowest = float(np.finfo(dtype).min) if "float" in dtype else float(np.iinfo(dtype).min)
    build = getattr(relay.nn, f"max_pool{len(window.kernel)}d")
    found = window.pooled(build, window.padded(data, lowest), window.pads)
    if len(node.outputs) < 2 or not node.outputs[1]:
        return found
    return found, _positions(node, window)


def _positions(node: Node, window: Window) -> Expr:
    """The positions of the maxima in the flattened data."""
    data, rank = node[0], len(window.kernel)
    shape = node.shape(data)
    pads = window.same_pads(shape[2:]) if window.same else window.pads
    sides = (shape[2:], window.kernel, window.strides, window.dilations, pads[:rank], pads[rank:])
    ceil, size = bool(node.attr("ceil_mode", 0)), math.prod(shape[2:])
    axes = [sliding_positions(*side, ceil=ceil) for side in zip(*sides, strict=True)]
    columns = bool(node.attr("storage_order", 0))
    numbers = np.arange(size).reshape(shape[:1:-1]).T if columns else None
    planes = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *[1] * rank) * size
    return positions_of_maxima(data, shape, axes, numbers) + Constant(planes)


@converts("AveragePool")
def average_pool(node: Node) -> Expr:
    data = node[0]
    window = Window(node, node.attr("kernel_shape"))
    pads = window.pads
    if window.same:
        pads = window.same_pads(node.sizes(data))
    build = getattr(relay.nn, f"avg_pool{len(window.kernel)}d")
    include = bool(node.attr("count_include_pad", 0))
    return window.pooled(build, data, pads, count_include_pad=include)


@converts("LpPool")
def lp_pool(node: Node) -> Expr:
    """The p-norm of each window, computed from the mean of the powers."""
    data, dtype = node[0], node.dtype(node[0])
    window = Window(node, node.attr("kernel_shape"))
    p = float(node.attr("p", 2))
    pads = window.same_pads(node.sizes(data)) if window.same else window.pads
    build = getattr(relay.nn, f"avg_pool{len(window.kernel)}d")
    powers = relay.power(relay.abs(data), relay.const(p, dtype))
    means = window.pooled(build, powers, pads, count_include_pad=True)
    total = means * relay.const(float(np.prod(window.kernel)), dtype)
    return relay.power(total, relay.const(1.0 / p, dtype))


@converts("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(node: Node) -> Expr:
    data = node[0]
    rank = node.rank(data) - 2
    if node.op_type == "GlobalLpPool":
        return _global_lp(node, data, rank)
    kind = "avg" if node.op_type == "GlobalAveragePool" else "max"
    if rank == 2:
        return getattr(relay.nn, f"global_{kind}_pool2d")(data)
    if rank in (1, 3):
        return getattr(relay.nn, f"global_{kind}_pool{rank}d")(data)
    node.fail(f"pooling over {rank} dimensions is not supported; 1, 2 and 3 are")


def _global_lp(node: Node, data: Expr, rank: int) -> Expr:
    p, dtype = float(node.attr("p", 2)), node.dtype(data)
    powers = relay.power(relay.abs(data), relay.const(p, dtype))
    total = relay.sum(powers, axis=list(range(2, rank + 2)), keepdims=True)
    return relay.power(total, relay.const(1.0 / p, dtype))
