"""Operators that select elements by index: take, gather, gather_nd, one_hot.

Source: `TakeRel`, `GatherRel`, `GatherNDRel`, `OneHotRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, dtype, integer, string
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.expr import Expr, Op, const
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import RelaxCall, number, reads, relay_call, renamed
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    axis_of,
    differ,
    fail,
    need_one_of,
    need_positive,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import (
    constant_of,
    constant_value,
    dtype_of,
    rank_of,
    scalar,
    shape_of,
    typed,
)

TAKE_MODES = ("clip", "wrap", "fast")


def take_type(attrs: AnyValue, x: TensorType, i: TensorType) -> Type:
    """The axes of indices replace the axis of data; without axis the data is flattened.

    With batch_dims b, data and indices share their first b axes.
    """
    op = "take"
    need_one_of(op, "mode", attrs.mode, TAKE_MODES)
    if attrs.axis is None:
        return TensorType(i.shape, x.dtype)
    axis = axis_of(op, attrs.axis, len(x.shape))
    batch = attrs.batch_dims + len(i.shape) if attrs.batch_dims < 0 else attrs.batch_dims
    if not 0 <= batch <= min(axis, len(i.shape)):
        fail(op, f"attribute batch_dims={attrs.batch_dims} must be at most axis and indices' rank")
    if any(differ(a, b) for a, b in zip(x.shape[:batch], i.shape[:batch], strict=True)):
        fail(op, f"the first {batch} axes of data {x} and indices {i} must be the same")
    return TensorType((*x.shape[:axis], *i.shape[batch:], *x.shape[axis + 1 :]), x.dtype)


def take_reference(attrs: AnyValue, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    mode: AnyValue = "wrap" if attrs.mode == "wrap" else "clip"
    whole = indices.astype(np.int64)
    if attrs.axis is None:
        return np.take(x, whole, mode=mode)
    axis = attrs.axis % x.ndim
    batch = attrs.batch_dims % whole.ndim if attrs.batch_dims else 0
    if not batch:
        return np.take(x, whole, axis, mode=mode)
    pairs = np.ndindex(*x.shape[:batch])
    taken = [np.take(x[at], whole[at], axis - batch, mode=mode) for at in pairs]
    return np.stack(taken).reshape(*x.shape[:batch], *taken[0].shape)


def _take_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, indices: AnyValue) -> AnyValue:
    if attrs.axis is None:
        return R.take(R.reshape(x, (-1,)), indices, 0, mode=attrs.mode)
    if not attrs.batch_dims:
        return R.take(x, indices, attrs.axis, mode=attrs.mode)
    # Relax has no batch_dims: all batches are merged into one axis, and the indices get an offset
    # per batch.
    whole, index = shape_of(x), shape_of(indices)
    axis, batch = attrs.axis % len(whole), attrs.batch_dims % len(index)
    count, length = prod(whole[:batch]), whole[axis]
    before, after = prod(whole[batch:axis]), prod(whole[axis + 1 :])
    kind = dtype_of(indices)
    if attrs.mode == "wrap":
        inside = R.floor_mod(indices, scalar(length, kind))
    else:
        inside = R.minimum(R.maximum(indices, scalar(0, kind)), scalar(length - 1, kind))
    starts = (np.arange(count) * length).astype(kind).reshape(count, 1)
    flat = R.add(R.reshape(inside, (count, prod(index[batch:]))), constant_of(starts))
    rows = R.permute_dims(R.reshape(x, (count, before, length, after)), [0, 2, 1, 3])
    rows = R.reshape(rows, (count * length, before, after))
    taken = R.take(typed(rows), typed(flat), 0)
    shape = (*whole[:axis], *index[batch:], *whole[axis + 1 :])
    return R.reshape(R.permute_dims(typed(taken), [0, 2, 1, 3]), shape)


define_op(
    "take",
    "data indices",
    result_type=take_type,
    from_relax={"take": renamed(mode=lambda attrs: getattr(attrs, "mode", "fast"))},
    arithmetic=Arithmetic.INDEXED,
    reference=take_reference,
    attrs=AttrsType(
        "relay.attrs.TakeAttrs",
        (
            Attr("batch_dims", integer, 0, "number of leading axes that data and indices share"),
            Attr("axis", integer, None, "axis to select along; None: the flattened data"),
            Attr("mode", string, "clip", "indices out of range: clip, wrap, or fast (undefined)"),
        ),
    ),
    relax=_take_relax,
    pattern=OpPattern.INJECTIVE,
    parameters="data indices axis batch_dims mode",
    doc="The elements, or slices along axis, of data at indices.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SAME,
)


def gather_type(attrs: AnyValue, x: TensorType, i: TensorType) -> Type:
    """indices has the shape of data except on the axis; the result has the shape of indices."""
    op = "gather"
    axis = axis_of(op, attrs.axis, len(x.shape))
    if len(i.shape) != len(x.shape) or any(
        differ(a, b) for n, (a, b) in enumerate(zip(x.shape, i.shape, strict=True)) if n != axis
    ):
        fail(op, f"indices {i} must have the shape of data {x} except on axis {axis}")
    return TensorType(i.shape, x.dtype)


define_op(
    "gather",
    "data indices",
    result_type=gather_type,
    from_relax={
        "gather_elements": lambda op, call, x, i: relay_call(op.name, x, int(call.attrs.axis), i)
    },
    arithmetic=Arithmetic.INDEXED,
    reference=lambda attrs, x, i: np.take_along_axis(x, i.astype(np.int64), attrs.axis),
    attrs=AttrsType(
        "relay.attrs.GatherAttrs", (Attr("axis", integer, doc="axis to select along"),)
    ),
    relax=lambda R, attrs, x, i: R.gather_elements(x, i, attrs.axis),
    pattern=OpPattern.INJECTIVE,
    parameters="data axis indices",
    doc="out[i, j] = data[indices[i, j], j] for axis 0; likewise for other axes and ranks.",
)


def gather_nd_type(attrs: AnyValue, x: TensorType, i: TensorType) -> Type:
    """indices (M, Y...) and data (X0, X1, ...) give (Y..., XM, ...); the first axis of indices
    holds positions.

    With batch_dims b, the first b axes of data are the first axes of Y.
    """
    op = "gather_nd"
    if not i.shape:
        fail(op, f"indices must have at least one dimension, found {i}")
    depth = attrs.index_rank if isinstance(i.shape[0], Unknown) else i.shape[0]
    if depth is None:
        fail(op, f"attribute index_rank must be given for indices {i}")
    if depth + attrs.batch_dims > len(x.shape):
        fail(op, f"indices {i} name {depth} axes after {attrs.batch_dims} of batch, data is {x}")
    return TensorType((*i.shape[1:], *x.shape[attrs.batch_dims + depth :]), x.dtype)


def gather_nd_reference(attrs: AnyValue, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    batch, shape = attrs.batch_dims, indices.shape[1:]
    own = np.indices(shape)[:batch]  # on the batch axes, an element is selected at its own index
    elements = (*own, *indices.astype(np.int64))
    return x[elements] if elements else np.broadcast_to(x, (*shape, *x.shape))


def _gather_nd_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, indices: AnyValue) -> AnyValue:
    order = [*range(1, rank_of(indices)), 0]  # Relax has the positions on the last axis
    positions = R.permute_dims(R.astype(indices, "int64"), order)
    return R.gather_nd(x, positions, attrs.batch_dims)


def _gather_nd_from_relax(op: Op, call: RelaxCall, x: Expr, indices: Expr) -> Expr:
    """Reads gather_nd of Relax: an index vector is along the last axis of Relax's indices, but
    along the first axis of Relay's."""
    ranks = call.shapes[1]
    assert ranks is not None
    last = len(ranks) - 1
    turned = relay_call("transpose", indices, axes=(last, *range(last)))
    return relay_call("gather_nd", x, turned, batch_dims=int(call.attrs.batch_dims or 0))


define_op(
    "gather_nd",
    "data indices",
    result_type=gather_nd_type,
    from_relax={"gather_nd": _gather_nd_from_relax},
    arithmetic=Arithmetic.INDEXED,
    reference=gather_nd_reference,
    attrs=AttrsType(
        "relay.attrs.GatherNDAttrs",
        (
            Attr("batch_dims", integer, 0, "number of leading axes that data and indices share"),
            Attr("index_rank", integer, None, "size of the first axis of indices, if unknown"),
        ),
    ),
    relax=_gather_nd_relax,
    pattern=OpPattern.INJECTIVE,
    doc="The elements, or slices, of data at the positions on the first axis of indices.",
)


def one_hot_relation(
    attrs: AnyValue, indices: Type | None, on_value: Type | None, off_value: Type | None
) -> Types:
    """The shape of indices with a new axis of size depth, in the dtype of the attribute."""
    op = "one_hot"
    i, on, off = tensors(op, "indices on_value off_value", indices, on_value, off_value)
    if i is None:
        return None, on, off, None
    need_positive(op, attrs, "depth")
    at = axis_of(op, attrs.axis, len(i.shape) + 1)
    return i, on, off, TensorType((*i.shape[:at], attrs.depth, *i.shape[at:]), attrs.dtype)


def one_hot_reference(
    attrs: AnyValue, indices: np.ndarray, on: np.ndarray, off: np.ndarray
) -> np.ndarray:
    axis = attrs.axis % (indices.ndim + 1)
    classes = np.arange(attrs.depth).reshape(-1, *[1] * (indices.ndim - axis))
    return np.where(np.expand_dims(indices, axis) == classes, on, off).astype(attrs.dtype)


def _one_hot_relax(
    R: AnyValue, attrs: AnyValue, indices: AnyValue, on: AnyValue, off: AnyValue
) -> AnyValue:
    from tvm import relax

    exact = float if "float" in dtype_of(on) else int
    values = [
        relax.prim_value(exact(constant_value(v, "one_hot", name)))
        for v, name in ((on, "on_value"), (off, "off_value"))
    ]
    return R.astype(R.one_hot(indices, *values, attrs.depth, attrs.axis), attrs.dtype)


define_op(
    "one_hot",
    "indices on_value off_value",
    one_hot_relation,
    reference=one_hot_reference,
    attrs=AttrsType(
        "relay.attrs.OneHotAttrs",
        (
            Attr("depth", integer, 1, "size of the new axis"),
            Attr("axis", integer, -1, "position of the new axis; -1: last"),
            Attr("dtype", dtype, dtype(""), "dtype of the result"),
        ),
    ),
    defaults={"depth": REQUIRED, "axis": REQUIRED, "dtype": REQUIRED},
    flops=per_element(1),
    relax=_one_hot_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="on_value where the index on the new axis equals indices, off_value elsewhere.",
    arithmetic=Arithmetic.EXACT,
)


@reads("one_hot")
def _read_one_hot(call: RelaxCall, indices: Expr, on: AnyValue, off: AnyValue) -> Expr:
    attrs, dtype = call.attrs, str(call.dtype)
    values = [const(number(value), dtype) for value in (on, off)]
    return relay_call(
        "one_hot", indices, *values, depth=int(attrs.depth), axis=int(attrs.axis), dtype=dtype
    )
