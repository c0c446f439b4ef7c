"""Operators that move elements without changing them, and operators that create tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node, flat
from byoc_lab.importers.pytorch.operators.linear import reshaped
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.op.tensor.shape import reshaped_to


@converts(
    "view.default", "reshape.default", "_unsafe_view.default", "unflatten.int",
    "flatten.using_ints", "_reshape_copy.default", "view_copy.default",
)  # fmt: skip
def reshape(node: Node) -> Any:
    """Reshapes to the result shape that PyTorch computed; flattening of images becomes
    batch_flatten."""
    if node.overload == "flatten" and node.axis("start_dim") == 1 and len(node.result_shape) == 2:
        return relay.nn.batch_flatten(node["self"])
    return reshaped(node, node["self"])


@converts("unsqueeze.default")
def unsqueeze(node: Node) -> Any:
    return relay.expand_dims(node["self"], axis=int(node["dim"]) % (node.rank() + 1))


@converts("squeeze.default", "squeeze.dim", "squeeze.dims")
def squeeze(node: Node) -> Any:
    """Removes only dimensions of size 1."""
    shape, rank = node.shape(), node.rank()
    named = range(rank) if node.name.endswith(".default") else node["dim"]
    chosen = [named] if isinstance(named, int) else named
    axes = [a % rank for a in chosen if rank and shape[a] == 1]
    return relay.squeeze(node["self"], axis=axes) if axes else node["self"]


@converts("permute.default")
def permute(node: Node) -> Any:
    return relay.transpose(node["self"], axes=[a % node.rank() for a in node["dims"]])


@converts("transpose.int", "t.default", "numpy_T.default", "swapaxes.default")
def transpose(node: Node) -> Any:
    rank = node.rank()
    order = list(range(rank))
    if node.overload in ("t", "numpy_T"):
        return relay.transpose(node["self"], axes=order[::-1]) if rank > 1 else node["self"]
    if rank == 0:
        return node["self"]
    names = ("axis0", "axis1") if node.overload == "swapaxes" else ("dim0", "dim1")
    first, second = (node[n] % rank for n in names)
    order[first], order[second] = order[second], order[first]
    return relay.transpose(node["self"], axes=order)


@converts("cat.default", "concat.default")
def cat(node: Node) -> Any:
    """Empty one-dimensional tensors are ignored, as in PyTorch."""
    values = [
        (value, raw) for value, raw in zip(node["tensors"], node.raw("tensors"), strict=True)
        if tuple(raw.meta["val"].shape) != (0,)
    ]  # fmt: skip
    dtype = node.result_dtype
    parts = [_as(value, raw, dtype) for value, raw in values]
    return relay.concatenate(parts, axis=int(node["dim"]) % len(node.result_shape))


def _as(value: Expr, raw: Any, dtype: str) -> Expr:
    return value if str(raw.meta["val"].dtype) == f"torch.{dtype}" else relay.cast(value, dtype)


@converts("stack.default")
def stack(node: Node) -> Any:
    return relay.stack(node["tensors"], axis=int(node["dim"]) % len(node.result_shape))


def _sizes(node: Node) -> list[int]:
    """The sizes of the parts of a split, as PyTorch computed them."""
    axis = node.axis()
    sizes = [part.shape[axis] for part in node.result]
    if not all(isinstance(n, int) for n in sizes):
        node.fail("a dynamic dimension cannot be split")
    return sizes


@converts(
    "split.Tensor",
    "split.sizes",
    "split_with_sizes.default",
    "chunk.default",
    "tensor_split.sections",
)
def split(node: Node) -> Any:
    ends = [int(n) for n in np.cumsum(_sizes(node))[:-1]]
    if not ends:
        return (node["self"],)
    parts = relay.split(node["self"], ends, axis=node.axis())
    return tuple(parts[i] for i in range(len(ends) + 1))


@converts("unbind.int")
def unbind(node: Node) -> Any:
    axis = node.axis()
    count = node.static()[axis]
    if count == 1:
        return (relay.squeeze(node["self"], axis=[axis]),)
    parts = relay.split(node["self"], count, axis=axis)
    return tuple(relay.squeeze(parts[i], axis=[axis]) for i in range(count))


@converts("slice.Tensor")
def slice_(node: Node) -> Any:
    axis, length = node.axis(), node.shape()[node.axis()]
    start, end = node["start"] or 0, node["end"]
    unbounded = end is None or (isinstance(end, int) and end >= 2**62)
    if start == 0 and node["step"] == 1 and (unbounded or end == length):
        return node["self"]
    if not all(isinstance(n, int) for n in (start, 0 if unbounded else end)):
        node.fail("bounds of a slice must be static")
    if isinstance(length, int):
        start, end, _ = slice(start, None if unbounded else end).indices(length)
    elif start < 0 or unbounded or end < 0:
        node.fail(
            "a slice of a dynamic dimension must have a start and an end counted from its beginning"
        )
    step = [node["step"]] if node["step"] != 1 else None
    return relay.strided_slice(node["self"], [start], [end], step, axes=[axis])


@converts("select.int")
def select(node: Node) -> Any:
    axis, index = node.axis(), node["index"]
    if not isinstance(index, int):
        node.fail("an index that is computed at run time is not supported")
    if index < 0:
        index += node.static()[axis]
    return relay.take(node["self"], Constant(np.asarray(index, "int64")), axis=axis)


@converts("expand.default", "broadcast_to.default", "expand_as.default")
def expand(node: Node) -> Any:
    wanted = node.result_shape
    if list(node.shape()) == wanted:
        return node["self"]
    if all(isinstance(n, int) for n in wanted):
        return relay.broadcast_to(node["self"], wanted)
    if node.overload == "expand_as":
        lengths = relay.shape_of(node["other"], "int64")
    else:
        given = node["size"]
        known = [n if isinstance(n, int) else g for n, g in zip(wanted, given, strict=True)]
        if not all(isinstance(n, (int, Expr)) for n in known):
            node.fail(f"the sizes {given} are unknown even at run time")
        scalars = [relay.const(n, "int64") if isinstance(n, int) else n for n in known]
        lengths = relay.stack(scalars, axis=0)
    return reshaped(node, relay.broadcast_to(node["self"], node.typed(lengths)))


@converts("repeat.default", "tile.default")
def repeat(node: Node) -> Any:
    repeats = node["repeats"] if node.overload == "repeat" else node["dims"]
    return relay.tile(node["self"], [int(n) for n in repeats])


@converts("repeat_interleave.self_int")
def repeat_interleave(node: Node) -> Any:
    if node["dim"] is None:
        return relay.repeat(relay.reshape(node["self"], (-1,)), int(node["repeats"]), axis=0)
    return relay.repeat(node["self"], int(node["repeats"]), axis=node.axis())


@converts("flip.default")
def flip(node: Node) -> Any:
    found = node["self"]
    for axis in node["dims"]:
        found = relay.reverse(found, int(axis) % node.rank())
    return found


@converts("roll.default")
def roll(node: Node) -> Any:
    shape, found = node.static(), node["self"]
    if not flat(node["dims"]):
        node.fail("rolling without dims is not supported")
    for shift, dim in zip(node["shifts"], node["dims"], strict=True):
        places = np.roll(np.arange(shape[dim]), shift)
        found = relay.take(found, Constant(places), axis=dim % len(shape), mode="clip")
    return found


@converts("constant_pad_nd.default", "pad.default")
def pad(node: Node) -> Any:
    """Padding lists the numbers before and after each dimension, the last dimension first."""
    numbers, rank = [int(n) for n in node["pad"]], node.rank()
    width = [(0, 0)] * (rank - len(numbers) // 2)
    width += [(numbers[i], numbers[i + 1]) for i in range(len(numbers) - 2, -1, -2)]
    x, dtype = node["self"], node.dtype()
    if any(n < 0 for n in numbers):
        shape = node.static()
        begin = [max(0, -before) for before, _ in width]
        end = [n - max(0, -after) for n, (_, after) in zip(shape, width, strict=True)]
        x, width = relay.strided_slice(x, begin, end), [(max(0, b), max(0, a)) for b, a in width]
    mode = node["mode"] if node.overload == "pad" else "constant"
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
    if mode == "circular":
        return _wrapped(node, x, width)
    if mode not in modes:
        node.fail(f"mode {mode!r:.40} is not supported; {', '.join(modes)} are")
    value = node["value"] or 0
    return relay.nn.pad(x, width, Constant(np.asarray(value, dtype)), pad_mode=modes[mode])


def _wrapped(node: Node, x: Expr, width: list[tuple[int, int]]) -> Expr:
    """Circular padding: the data repeats itself."""
    for axis, (before, after) in enumerate(width):
        if before or after:
            places = np.pad(np.arange(node.static()[axis]), (before, after), mode="wrap")
            x = relay.take(x, Constant(places), axis=axis, mode="clip")
    return x


@converts("reflection_pad1d.default", "reflection_pad2d.default", "replication_pad2d.default")
def pad_by_data(node: Node) -> Any:
    numbers, rank = [int(n) for n in node["padding"]], node.rank()
    width = [(0, 0)] * (rank - len(numbers) // 2)
    width += [(numbers[i], numbers[i + 1]) for i in range(len(numbers) - 2, -1, -2)]
    mode = "reflect" if node.overload.startswith("reflection") else "edge"
    return relay.nn.pad(node["self"], width, pad_mode=mode)


@converts("pixel_shuffle.default")
def pixel_shuffle(node: Node) -> Any:
    return relay.nn.depth_to_space(node["self"], int(node["upscale_factor"]), mode="CRD")


@converts("channel_shuffle.default")
def channel_shuffle(node: Node) -> Any:
    n, c, *rest = node.static()
    groups = int(node["groups"])
    found = reshaped_to(node["self"], (n, groups, c // groups, *rest))
    order = [0, 2, 1, *range(3, 3 + len(rest))]
    return reshaped_to(relay.transpose(found, axes=order), (n, c, *rest))


@converts("full.default", "full_like.default", "fill.Scalar", "fill.Tensor")
def full(node: Node) -> Any:
    value = node["fill_value" if node.overload.startswith("full") else "value"]
    if isinstance(value, Expr):
        return relay.broadcast_to(value, node.result_shape)
    return _filled(node, value)


@converts(
    "zeros.default", "zeros_like.default", "ones.default", "ones_like.default", "new_zeros.default",
    "new_ones.default", "scalar_tensor.default",
)  # fmt: skip
def filled(node: Node) -> Any:
    if node.overload == "scalar_tensor":
        return _filled(node, node["s"])
    return _filled(node, 1 if "ones" in node.overload else 0)


def _filled(node: Node, value: Any) -> Expr:
    shape = node.result_shape
    if not all(isinstance(n, int) for n in shape):
        node.fail(f"a tensor of dynamic shape {shape} cannot be created")
    return Constant(np.full(shape, value, node.result_dtype))


@converts("arange.default", "arange.start", "arange.start_step")
def arange(node: Node) -> Any:
    start = 0 if node.name.endswith(".default") else node["start"]
    bounds = [start, node["end"], node["step"] if node.name.endswith("step") else 1]
    if all(isinstance(n, (int, float)) for n in bounds):
        return Constant(np.arange(*bounds).astype(node.result_dtype))
    if not all(isinstance(n, (int, Expr)) for n in bounds):
        node.fail(
            "Relay cannot compute the length of this range: sums, differences, "
            "products and floor divisions of sizes are supported; or export with a static length"
        )
    found = relay.arange(*(n if isinstance(n, Expr) else relay.const(n, "int64") for n in bounds),
                         dtype="int64")  # fmt: skip
    return found if node.result_dtype == "int64" else relay.cast(found, node.result_dtype)


@converts("tril.default", "triu.default")
def trilu(node: Node) -> Any:
    diagonal = Constant(np.asarray(node["diagonal"], "int64"))
    return relay.trilu(node["self"], diagonal, node.overload == "triu")


@converts("diagonal.default")
def diagonal(node: Node) -> Any:
    """The diagonal becomes the last dimension."""
    shape, offset = node.static(), int(node["offset"])
    rows, columns = (int(node[name]) % len(shape) for name in ("dim1", "dim2"))
    rest = [a for a in range(len(shape)) if a not in (rows, columns)]
    places = np.arange(shape[rows] * shape[columns]).reshape(shape[rows], shape[columns])
    flat = reshaped_to(
        relay.transpose(node["self"], axes=[*rest, rows, columns]),
        [*(shape[a] for a in rest), places.size],
    )
    chosen = Constant(np.ascontiguousarray(places.diagonal(offset)))
    return relay.take(flat, chosen, axis=len(rest), mode="clip")
