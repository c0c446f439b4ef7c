"""Operators that move elements without changing them, and shapes as values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.op.tensor.shape import reshaped_to


@converts("Reshape")
def reshape(node: Node) -> Expr:
    if node.opset < 5:
        return relay.reshape(node[0], node.attr("shape"))
    allowzero = bool(node.attr("allowzero", 0))
    wanted = node.value(1)
    if wanted is None:
        lengths = node.lengths(1)
        if lengths is None:
            return node.reshaped(node[0], node[1], allowzero)
        return relay.reshape(node[0], lengths, allowzero=allowzero)
    return relay.reshape(node[0], [int(n) for n in wanted.ravel()], allowzero=allowzero)


@converts("Flatten")
def flatten(node: Node) -> Expr:
    x = node[0]
    rank = node.rank(x)
    axis = node.attr("axis", 1)
    axis = axis + rank if axis < 0 else axis
    if axis == 1:
        return relay.nn.batch_flatten(x)
    sizes = node.shape(x)
    rest = math.prod(sizes[axis:]) if 0 in sizes else -1
    return reshaped_to(x, (math.prod(sizes[:axis]), rest))


@converts("Transpose")
def transpose(node: Node) -> Expr:
    return relay.transpose(node[0], axes=node.attr("perm", None))


def axes_of(node: Node, since: int, what: str = "the axes") -> list[int] | None:
    """The axes, from an attribute, or from the second input from opset `since` on."""
    if node.opset >= since:
        return node.integers(1, what)
    found = node.attr("axes", None)
    return None if found is None else [int(a) for a in found]


@converts("Squeeze")
def squeeze(node: Node) -> Expr:
    axes = axes_of(node, 13)
    return relay.squeeze(node[0], axis=axes)


@converts("Unsqueeze")
def unsqueeze(node: Node) -> Expr:
    axes = axes_of(node, 13)
    if axes is None:
        node.fail("axes are missing")
    rank = node.rank(node[0]) + len(axes)
    x = node[0]
    for axis in sorted(node.axis(a, rank) for a in axes):
        x = relay.expand_dims(x, axis=axis, num_newaxis=1)
    return x


@converts("Concat")
def concat(node: Node) -> Expr:
    if len(node.inputs) == 1:
        return node[0]
    return relay.concatenate(node.given, axis=node.attr("axis", 1))


@converts("Split")
def split(node: Node) -> tuple[Expr, ...]:
    x = node[0]
    axis = node.axis(node.attr("axis", 0), node.rank(x))
    sizes = node.integers(1, "the sizes") if node.opset >= 13 else node.attr("split", None)
    count = len(node.outputs)
    if sizes is None:
        length = node.length(x, axis)
        if length % count == 0:
            parts = relay.split(x, count, axis=axis)
            return tuple(parts[i] for i in range(count))
        size = -(-length // count)
        sizes = [size] * (count - 1)
    else:
        sizes = list(sizes)[:-1]
    ends = [int(n) for n in np.cumsum(sizes)]
    if not ends:
        return (x,)
    parts = relay.split(x, ends, axis=axis)
    return tuple(parts[i] for i in range(len(ends) + 1))


@converts("Shape")
def shape(node: Node) -> Expr:
    found = relay.shape_of(node[0], "int64")
    rank = node.rank(node[0])
    if not node.has("start") and not node.has("end"):
        return found if rank else Constant(np.zeros(0, np.int64))
    start, end, _ = slice(node.attr("start", 0), node.attr("end", rank)).indices(rank)
    if start >= end:
        return Constant(np.zeros(0, np.int64))
    return relay.strided_slice(found, [start], [end])


@converts("Size")
def size(node: Node) -> Expr:
    if not node.rank(node[0]):
        return relay.const(1, "int64")
    return relay.ndarray_size(node[0], dtype="int64")


@converts("Expand")
def expand(node: Node) -> Expr:
    """Bidirectional broadcast: a 1 in the requested shape keeps the size of the data."""
    x, wanted = node[0], node.value(1)
    if wanted is None:
        return _expanded_at_run_time(node)
    have = node.shape(x)
    rank = max(len(have), len(wanted))
    pairs = zip(
        (1,) * (rank - len(have)) + have, [1] * (rank - len(wanted)) + wanted.tolist(), strict=True
    )
    return relay.broadcast_to(x, [w if h == 1 else h for h, w in pairs])


def broadcast_lengths(a: Expr, b: Expr) -> Expr:
    """The broadcast of two shapes `a` and `b`, int64: if one size is 1, the other size, which may
    be 0."""
    longer, shorter = relay.maximum(a, b), relay.minimum(a, b)
    return longer * relay.minimum(shorter, relay.const(1, "int64"))


def _expanded_at_run_time(node: Node) -> Expr:
    x, wanted = node[0], relay.cast(node[1], "int64")
    have = node.shape(x)
    missing = node.length(wanted, 0) - len(have)
    lengths = Constant(np.array((1,) * missing + have, np.int64))
    if missing < 0:
        ones = Constant(np.ones(-missing, np.int64))
        wanted = relay.concatenate([ones, wanted], axis=0)
    found = relay.broadcast_to(x, broadcast_lengths(lengths, wanted))
    known = node.graph.normalizer.numbers(wanted)
    if known is None:
        return found
    pairs = zip((1,) * missing + have, known.tolist()[max(0, -missing) :], strict=False)
    result = [h if h != 1 else w for h, w in pairs]
    if result.count(None) != 1 or len(result) != max(len(have), len(known)):
        return found
    return relay.reshape(found, [-1 if n is None else n for n in result])


@converts("Tile")
def tile(node: Node) -> Expr:
    if node.opset < 6:
        node.fail("Tile before opset 6 is not supported; export the model again")
    reps = node.value(1)
    return relay.tile(node[0], node[1] if reps is None else [int(n) for n in reps])


@converts("Slice")
def slice_(node: Node) -> Expr:
    axes: list[int] | None
    steps: list[int] | None
    if node.opset < 10:
        begin, end = list(node.attr("starts")), list(node.attr("ends"))
        axes, steps = node.attr("axes", None), None
    else:
        given = [i for i in range(1, len(node.inputs)) if node.optional(i) is not None]
        if any(node.value(i) is None for i in given):
            return _slice_at_run_time(node)
        begin = [int(n) for n in node.known(1, "the starts").ravel()]
        end = [int(n) for n in node.known(2, "the ends").ravel()]
        axes, steps = node.integers(3, "the axes"), node.integers(4, "the steps")
    rank = node.rank(node[0])
    along = [node.axis(int(a), rank) for a in (range(len(begin)) if axes is None else axes)]
    if steps is not None and any(s < 0 for s in steps):
        end = [_before_start(e) if s < 0 else e for e, s in zip(end, steps, strict=True)]
    return relay.strided_slice(node[0], begin, end, steps, axes=along)


def _before_start(end: int) -> int:
    """The end of a backward slice: ONNX writes the least integer to include element 0."""
    return max(end, -(2**31) + 1)


def _slice_at_run_time(node: Node) -> Expr:
    """A slice with starts, ends and steps for all axes, some computed at run time."""
    rank = node.rank(node[0])
    count = node.length(node[1], 0)
    axes = node.optional(3)
    places = Constant(np.arange(count)) if axes is None else _int64(node, 3)
    zero, all_ = relay.const(0, "int64"), relay.const(rank, "int64")
    places = relay.where(relay.less(places, zero), places + all_, places)
    lengths = relay.shape_of(node[0], "int64")
    begins = Constant(np.zeros(rank, np.int64))
    steps: Expr = Constant(np.ones(rank, np.int64))
    if node.optional(4) is not None:
        steps = relay.scatter_elements(steps, places, _int64(node, 4))
    begins = relay.scatter_elements(begins, places, _int64(node, 1))
    ends = relay.scatter_elements(lengths, places, _int64(node, 2))
    return relay.strided_slice(node[0], begins, ends, steps)


def _int64(node: Node, index: int) -> Expr:
    return relay.cast(node[index], "int64")


@converts("Pad")
def pad(node: Node) -> Expr:
    x, dtype = node[0], node.dtype(node[0])
    rank = node.rank(x)
    if node.opset < 11:
        pads = [int(n) for n in node.attr("pads" if node.has("pads") else "paddings")]
        value: Expr = Constant(np.array(node.attr("value", 0.0), dtype))
    else:
        value = (
            Constant(np.zeros((), dtype)) if node.optional(2) is None else _scalar(node, node[2])
        )
        if node.value(1) is None:
            return _padded_at_run_time(node, value)
        pads = [int(n) for n in node.known(1, "the padding")]
    axes = node.integers(3, "the axes") if node.opset >= 18 else None
    if axes is not None:
        given, pads = pads, [0] * 2 * rank
        for i, axis in enumerate(axes):
            axis = node.axis(axis, rank)
            pads[axis], pads[axis + rank] = given[i], given[i + len(axes)]
    width = list(zip(pads[:rank], pads[rank:], strict=True))
    if any(n < 0 for n in pads):
        x, width = _cropped(node, x, width)
    mode = node.attr("mode", "constant")
    if mode == "wrap":
        return _wrapped(node, x, width)
    if mode not in ("constant", "edge", "reflect"):
        node.fail(f"mode {mode!r:.40} does not exist")
    if mode == "reflect":
        _check_reflection(node, x, width)
    return relay.nn.pad(x, width, value, pad_mode=mode)


def _check_reflection(node: Node, x: Expr, width: list[tuple[int, int]]) -> None:
    """Raise an error if a known size is not larger than its padding: ONNX Runtime reflects once."""
    for axis, (n, pads) in enumerate(zip(node.type_of(x).shape, width, strict=True)):
        if isinstance(n, int) and n and max(pads) >= n:
            node.fail(
                f"reflection adds {max(pads)} to the {n} elements of axis {axis}; at most "
                f"{n - 1} can be reflected"
            )


def _scalar(node: Node, x: Expr) -> Expr:
    return node.typed(relay.reshape(x, ())) if node.rank(x) else x


def _padded_at_run_time(node: Node, value: Expr) -> Expr:
    """Padding that is computed at run time; it must not be negative."""
    if node.attr("mode", "constant") != "constant":
        node.known(1, f"the padding of mode {node.attr('mode')!r:.40}")
    pads, rank = _int64(node, 1), node.rank(node[0])
    if node.optional(3) is not None:
        axes = _int64(node, 3)
        zero, size = relay.const(0, "int64"), relay.const(rank, "int64")
        first = relay.where(relay.less(axes, zero), axes + size, axes)
        both = relay.concatenate([first, first + size], axis=0)
        pads = relay.scatter_elements(Constant(np.zeros(2 * rank, np.int64)), both, pads)
    width = relay.transpose(relay.reshape(pads, (2, rank)), axes=(1, 0))
    return relay.nn.pad(node[0], width, value)


def _cropped(node: Node, x: Expr, width: Any) -> tuple[Expr, Any]:
    """Crops the data by the negative padding."""
    shape = node.shape(x)
    begin = [max(0, -before) for before, _ in width]
    end = [n - max(0, -after) for n, (_, after) in zip(shape, width, strict=True)]
    return relay.strided_slice(x, begin, end), [(max(0, b), max(0, a)) for b, a in width]


def _wrapped(node: Node, x: Expr, width: Any) -> Expr:
    for axis, (before, after) in enumerate(width):
        if before or after:
            places = np.pad(
                np.arange(node.shape(node.typed(x))[axis]), (before, after), mode="wrap"
            )
            x = relay.take(x, Constant(places), axis=axis, mode="clip")
    return x


@converts("DepthToSpace")
def depth_to_space(node: Node) -> Expr:
    mode = node.attr("mode", "DCR")
    return relay.nn.depth_to_space(node[0], node.attr("blocksize"), mode=mode)


@converts("SpaceToDepth")
def space_to_depth(node: Node) -> Expr:
    return relay.nn.space_to_depth(node[0], node.attr("blocksize"))


@converts("ReverseSequence")
def reverse_sequence(node: Node) -> Expr:
    return relay.reverse_sequence(
        node[0], node[1], node.attr("time_axis", 0), node.attr("batch_axis", 1)
    )


@converts("CenterCropPad")
def center_crop_pad(node: Node) -> Expr:
    x = node[0]
    have = node.shape(x)
    wanted = node.integers(1, "the shape")
    if wanted is None:
        node.fail("the shape is missing")
    axes = [node.axis(a, len(have)) for a in node.attr("axes", list(range(len(have))))]
    begin, end, width = [0] * len(have), list(have), [(0, 0)] * len(have)
    for axis, length in zip(axes, wanted, strict=True):
        spare = have[axis] - length
        if spare > 0:
            begin[axis] = spare // 2
            end[axis] = begin[axis] + length
        else:
            width[axis] = (-spare // 2, -spare - -spare // 2)
    zero = Constant(np.zeros((), node.dtype(x)))
    return relay.nn.pad(relay.strided_slice(x, begin, end), width, zero)
