"""Operators that select elements: slices, take, gather, one_hot.

Source: `StridedSliceRel`, `TakeRel`, `GatherRel`, `GatherNDRel`, `OneHotRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import (
    REQUIRED,
    Attr,
    AttrsType,
    dtype,
    integer,
    integers,
    string,
)
from byoc_lab.relay.ir.dims import Any, Dim, Unknown
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import Types, axes_of, axis_of, differ, fail, tensors
from byoc_lab.relay.op.framework.relax_types import (
    constant_of,
    constant_value,
    dtype_of,
    rank_of,
    scalar,
    shape_of,
    typed,
)
from byoc_lab.relay.op.tensor.shape import no_flops

# strided_slice, slice_like -----------------------------------------------------------------------


def slices_of(attrs: AnyValue, shape: AnyValue) -> dict[int, slice]:
    """The slice of each axis that `strided_slice` cuts, for data of a known `shape`.

    Numbers count from the end when negative and stop at the ends. With slice_mode "size", `end`
    holds lengths (-1: all that is left) and the strides are 1. Without axes, what begin or end do
    not say of an axis is its end.
    """
    op = "strided_slice"
    if attrs.begin is None or attrs.end is None:
        fail(op, "attributes begin and end must be given")
    begin, end, strides = attrs.begin, attrs.end, tuple(attrs.strides or ())
    if attrs.slice_mode == "size":
        strides = ()
    elif attrs.slice_mode != "end":
        fail(op, f"attribute slice_mode must be end or size, found {attrs.slice_mode!r}")
    count = max(len(begin), len(end), len(strides))
    axes = axes_of(op, range(count) if attrs.axes is None else attrs.axes, len(shape))
    if len(strides) == 1:
        strides *= len(axes)
    strides += (1,) * (len(axes) - len(strides))
    if attrs.axes is None:
        begin += tuple(0 if step > 0 else -1 for step in strides[len(begin) :])
        rest = zip(strides[len(end) :], shape[len(end) : len(axes)], strict=True)
        whole = attrs.slice_mode == "end"
        end += tuple((length if whole else -1) if step > 0 else 0 for step, length in rest)
    if len(begin) != len(axes) or len(end) != len(axes):
        fail(op, f"begin {list(begin)} and end {list(end)} must be {len(axes)} long")
    if 0 in strides:
        fail(op, "attribute strides must not hold a 0")
    found = {}
    for axis, first, last, step in zip(axes, begin, end, strides, strict=False):
        length = shape[axis]
        low, high = (0, length) if step > 0 else (-1, length - 1)
        first = min(max(first + length if first < 0 else first, low), high)
        if attrs.slice_mode == "size":
            last = length if last < 0 else first + last
        last = min(max(last + length if last < 0 else last, low), high)
        found[axis] = slice(first, None if last < 0 else last, step)
    return found


def slice_relation(attrs: AnyValue, data: Type | None) -> Types:
    """As `slices_of` says; a dimension unknown before the run stays `?` when it is cut."""
    (x,) = tensors("strided_slice", "data", data)
    if x is None:
        return None, None
    cuts = slices_of(attrs, [1 if isinstance(d, Unknown) else d for d in x.shape])
    shape = [_cut(d, cuts[n]) if n in cuts else d for n, d in enumerate(x.shape)]
    return x, TensorType(shape, x.dtype)


def _cut(length: Dim, cut: slice) -> Dim:
    return Any() if isinstance(length, Unknown) else len(range(*cut.indices(length)))


def slice_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    cuts = slices_of(attrs, x.shape)
    return x[tuple(cuts.get(n, slice(None)) for n in range(x.ndim))].copy()


def _slice_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    shape = shape_of(x)
    cuts = slices_of(attrs, shape)
    ends = []
    for n, cut in cuts.items():
        if cut.stop is None:
            ends.append(-shape[n] - 1)  # in front of the first element
        else:  # Relax wants an empty slice to end where it begins
            least = cut.step > 0
            ends.append(max(cut.start, cut.stop) if least else min(cut.start, cut.stop))
    return R.strided_slice(
        x, list(cuts), [c.start for c in cuts.values()], ends, [c.step for c in cuts.values()]
    )


define_op(
    "strided_slice",
    "data",
    slice_relation,
    reference=slice_reference,
    attrs=AttrsType(
        "relay.attrs.StridedSliceAttrs",
        (
            Attr("begin", integers, REQUIRED, "first element along each axis", may_be_none=True),
            Attr("end", integers, REQUIRED, "past the last element, or lengths", may_be_none=True),
            Attr(
                "strides",
                integers,
                REQUIRED,
                "steps; a single one is for all axes",
                may_be_none=True,
            ),
            Attr("slice_mode", string, "end", "what `end` holds: 'end' indices, or the 'size'"),
            Attr("axes", integers, REQUIRED, "axes; None: the first ones", may_be_none=True),
        ),
    ),
    flops=no_flops,
    relax=_slice_relax,
    pattern=OpPattern.INJECTIVE,
    layout=layout_rules.strided_slice,
    parameters="data begin end strides axes slice_mode",
    defaults={"begin": REQUIRED, "end": REQUIRED},
    normalize=lambda values: {**values, "strides": values["strides"] or [1]},
    doc="data[begin:end:strides] along some axes; begin, end and strides have a number for each.",
)


def _liked_axes(attrs: AnyValue, rank: int, like: int) -> tuple[int, ...]:
    return axes_of("slice_like", attrs.axes or range(like), rank)


def slice_like_relation(attrs: AnyValue, data: Type | None, shape_like: Type | None) -> Types:
    """data, as long as shape_like along the axes named, or along all of them."""
    op = "slice_like"
    x, like = tensors(op, "data shape_like", data, shape_like)
    if x is None or like is None:
        return x, like, None
    shape = list(x.shape)
    for axis in _liked_axes(attrs, len(shape), len(like.shape)):
        if axis >= len(like.shape):
            fail(op, f"shape_like {like} has no axis {axis}")
        own, wanted = shape[axis], like.shape[axis]
        if not isinstance(own, Unknown) and not isinstance(wanted, Unknown) and wanted > own:
            fail(op, f"axis {axis} of {x} is shorter than that of {like}")
        shape[axis] = wanted
    return x, like, TensorType(shape, x.dtype)


def slice_like_reference(attrs: AnyValue, x: np.ndarray, like: np.ndarray) -> np.ndarray:
    axes = _liked_axes(attrs, x.ndim, like.ndim)
    return x[tuple(slice(like.shape[n] if n in axes else None) for n in range(x.ndim))].copy()


def _slice_like_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, like: AnyValue) -> AnyValue:
    axes = list(_liked_axes(attrs, rank_of(x), rank_of(like)))
    ends = [shape_of(like)[n] for n in axes]
    return R.strided_slice(x, axes, [0] * len(axes), ends, [1] * len(axes))


define_op(
    "slice_like",
    "data shape_like",
    slice_like_relation,
    reference=slice_like_reference,
    attrs=AttrsType(
        "relay.attrs.SliceLikeAttrs",
        (Attr("axes", integers, (), "axes that are cut; None or empty: all", may_be_none=True),),
    ),
    defaults={"axes": None},
    flops=no_flops,
    relax=_slice_like_relax,
    pattern=OpPattern.INJECTIVE,
    layout=layout_rules.slice_like,
    doc="The first elements of data along each axis, as many as another tensor has.",
)

# take, gather, gather_nd, one_hot ----------------------------------------------------------------

TAKE_MODES = ("clip", "wrap", "fast")


def take_relation(attrs: AnyValue, data: Type | None, indices: Type | None) -> Types:
    """The axis of data makes way for the axes of indices; without axis the data is flat.

    With batch_dims b, the first b axes of both are the same and come once.
    """
    op = "take"
    x, i = tensors(op, "data indices", data, indices)
    if x is None or i is None:
        return x, i, None
    if attrs.mode not in TAKE_MODES:
        fail(op, f"attribute mode must be one of {', '.join(TAKE_MODES)}, found {attrs.mode!r}")
    if attrs.axis is None:
        return x, i, TensorType(i.shape, x.dtype)
    axis = axis_of(op, attrs.axis, len(x.shape))
    batch = attrs.batch_dims + len(i.shape) if attrs.batch_dims < 0 else attrs.batch_dims
    if not 0 <= batch <= min(axis, len(i.shape)):
        fail(op, f"attribute batch_dims={attrs.batch_dims} must be at most axis and indices' rank")
    if any(differ(a, b) for a, b in zip(x.shape[:batch], i.shape[:batch], strict=True)):
        fail(op, f"the first {batch} axes of data {x} and indices {i} must be the same")
    return x, i, TensorType((*x.shape[:axis], *i.shape[batch:], *x.shape[axis + 1 :]), x.dtype)


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
    picked = [np.take(x[at], whole[at], axis - batch, mode=mode) for at in pairs]
    return np.stack(picked).reshape(*x.shape[:batch], *picked[0].shape)


def _take_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, indices: AnyValue) -> AnyValue:
    if attrs.axis is None:
        return R.take(R.reshape(x, (-1,)), indices, 0, mode=attrs.mode)
    if not attrs.batch_dims:
        return R.take(x, indices, attrs.axis, mode=attrs.mode)
    # Relax has no batch_dims: all batches are joined in one axis, and the indices count along it.
    whole, asked = shape_of(x), shape_of(indices)
    axis, batch = attrs.axis % len(whole), attrs.batch_dims % len(asked)
    count, length = prod(whole[:batch]), whole[axis]
    before, after = prod(whole[batch:axis]), prod(whole[axis + 1 :])
    kind = dtype_of(indices)
    if attrs.mode == "wrap":
        inside = R.floor_mod(indices, scalar(length, kind))
    else:
        inside = R.minimum(R.maximum(indices, scalar(0, kind)), scalar(length - 1, kind))
    starts = (np.arange(count) * length).astype(kind).reshape(count, 1)
    flat = R.add(R.reshape(inside, (count, prod(asked[batch:]))), constant_of(starts))
    rows = R.permute_dims(R.reshape(x, (count, before, length, after)), [0, 2, 1, 3])
    rows = R.reshape(rows, (count * length, before, after))
    picked = R.take(typed(rows), typed(flat), 0)
    shape = (*whole[:axis], *asked[batch:], *whole[axis + 1 :])
    return R.reshape(R.permute_dims(typed(picked), [0, 2, 1, 3]), shape)


define_op(
    "take",
    "data indices",
    take_relation,
    reference=take_reference,
    attrs=AttrsType(
        "relay.attrs.TakeAttrs",
        (
            Attr("batch_dims", integer, 0, "how many axes data and indices have in common"),
            Attr("axis", integer, None, "axis to select along; None: the flattened data"),
            Attr("mode", string, "clip", "indices that are too large: clip, wrap, or fast (none)"),
        ),
    ),
    flops=no_flops,
    relax=_take_relax,
    pattern=OpPattern.INJECTIVE,
    parameters="data indices axis batch_dims mode",
    doc="The elements, or rows, of data at some indices.",
)


def gather_relation(attrs: AnyValue, data: Type | None, indices: Type | None) -> Types:
    """indices has the rank of data and its lengths but along the axis; so has the result."""
    op = "gather"
    x, i = tensors(op, "data indices", data, indices)
    if x is None or i is None:
        return x, i, None
    axis = axis_of(op, attrs.axis, len(x.shape))
    if len(i.shape) != len(x.shape) or any(
        differ(a, b) for n, (a, b) in enumerate(zip(x.shape, i.shape, strict=True)) if n != axis
    ):
        fail(op, f"indices {i} must have the shape of data {x}, but for axis {axis}")
    return x, i, TensorType(i.shape, x.dtype)


define_op(
    "gather",
    "data indices",
    gather_relation,
    reference=lambda attrs, x, i: np.take_along_axis(x, i.astype(np.int64), attrs.axis),
    attrs=AttrsType(
        "relay.attrs.GatherAttrs", (Attr("axis", integer, doc="axis to select along"),)
    ),
    flops=no_flops,
    relax=lambda R, attrs, x, i: R.gather_elements(x, i, attrs.axis),
    pattern=OpPattern.INJECTIVE,
    parameters="data axis indices",
    doc="Along one axis, the element of data at the index that indices has at the same position.",
)


def gather_nd_relation(attrs: AnyValue, data: Type | None, indices: Type | None) -> Types:
    """indices (M, Y...) and data (X0, X1, ...) give (Y..., XM, ...): positions on the first axis.

    With batch_dims b, the first b axes of data come as the first axes of Y.
    """
    op = "gather_nd"
    x, i = tensors(op, "data indices", data, indices)
    if x is None or i is None:
        return x, i, None
    if not i.shape:
        fail(op, f"indices must have at least one dimension, found {i}")
    depth = attrs.index_rank if isinstance(i.shape[0], Unknown) else i.shape[0]
    if depth is None:
        fail(op, f"attribute index_rank must be given for indices {i}")
    if depth + attrs.batch_dims > len(x.shape):
        fail(op, f"indices {i} name {depth} axes after {attrs.batch_dims} of batch, data is {x}")
    return x, i, TensorType((*i.shape[1:], *x.shape[attrs.batch_dims + depth :]), x.dtype)


def gather_nd_reference(attrs: AnyValue, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    batch, places = attrs.batch_dims, indices.shape[1:]
    own = np.indices(places)[:batch]  # along the batch axes each element has its own index
    elements = (*own, *indices.astype(np.int64))
    return x[elements]


def _gather_nd_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, indices: AnyValue) -> AnyValue:
    order = [*range(1, rank_of(indices)), 0]  # Relax has the positions along the last axis
    places = R.permute_dims(R.astype(indices, "int64"), order)
    return R.gather_nd(x, places, attrs.batch_dims)


define_op(
    "gather_nd",
    "data indices",
    gather_nd_relation,
    reference=gather_nd_reference,
    attrs=AttrsType(
        "relay.attrs.GatherNDAttrs",
        (
            Attr("batch_dims", integer, 0, "how many axes data and indices have in common"),
            Attr("index_rank", integer, None, "length of the first axis of indices, if unknown"),
        ),
    ),
    flops=no_flops,
    relax=_gather_nd_relax,
    pattern=OpPattern.INJECTIVE,
    doc="The elements, or slices, of data at the positions that the first axis of indices holds.",
)


def one_hot_relation(
    attrs: AnyValue, indices: Type | None, on_value: Type | None, off_value: Type | None
) -> Types:
    """A new axis of length depth in the shape of indices, of the attribute's dtype."""
    op = "one_hot"
    i, on, off = tensors(op, "indices on_value off_value", indices, on_value, off_value)
    if i is None:
        return None, on, off, None
    if attrs.depth < 1:
        fail(op, f"attribute depth must be positive, found {attrs.depth}")
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
            Attr("depth", integer, 1, "length of the new axis"),
            Attr("axis", integer, -1, "where the new axis goes; -1: last"),
            Attr("dtype", dtype, dtype(""), "dtype of the result"),
        ),
    ),
    defaults={"depth": REQUIRED, "axis": REQUIRED, "dtype": REQUIRED},
    flops=lambda attrs, args, result: prod(result.shape),
    relax=_one_hot_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="on_value where the new axis' index is that of indices, off_value elsewhere.",
)
