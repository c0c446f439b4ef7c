"""Operators on sequences and indices: sequence_mask, reverse_sequence, sliding_window, meshgrid,
searchsorted, unravel_index, invert_permutation, adv_index.

Source: `SequenceMaskRel`, `ReverseSequenceRel`, `SlidingWindowRel`, `MeshgridRel`,
`SearchSortedRel`, `UnRavelIndexRel`, `AdvIndexRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import (
    Attr,
    AttrsType,
    boolean,
    dtype,
    integer,
    integers,
    number,
    string,
)
from byoc_lab.relay.ir.expr import Call, Tuple
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.costs import comparisons, no_flops, per_element
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    axis_of,
    broadcast,
    differ,
    dim,
    fail,
    is_incomplete,
    need_integers,
    need_length,
    need_rank,
    tensor_fields,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import by_topi, constant_array, dtype_of, rank_of

# sequence_mask, reverse_sequence -----------------------------------------------------------------


def mask_relation(attrs: AnyValue, data: Type | None, lengths: Type | None) -> Types:
    """data with time along `axis` (0 or 1), batch on the other; one length per batch element."""
    op = "sequence_mask"
    x, n = tensors(op, "data valid_length", data, lengths)
    if attrs.axis not in (0, 1):
        fail(op, f"attribute axis must be 0 or 1, found {attrs.axis}")
    if x is not None:
        if len(x.shape) < 2:
            fail(op, f"data must have at least two dimensions, found {x}")
        batch = x.shape[1 - attrs.axis]
        if n is not None and (len(n.shape) != 1 or differ(n.shape[0], batch)):
            fail(op, f"valid_length must be a vector of the {batch} of the batch, found {n}")
    return x, n, x


def mask_reference(attrs: AnyValue, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    times = np.arange(x.shape[attrs.axis])
    valid = times[:, None] < lengths if attrs.axis == 0 else times < lengths[:, None]
    valid = valid.reshape(*valid.shape, *[1] * (x.ndim - 2))
    return np.where(valid, x, x.dtype.type(attrs.mask_value))


define_op(
    "sequence_mask",
    "data valid_length",
    mask_relation,
    reference=mask_reference,
    attrs=AttrsType(
        "relay.attrs.SequenceMaskAttrs",
        (
            Attr("mask_value", number, 0.0, "value after the end of a sequence"),
            Attr("axis", integer, 0, "time axis, 0 or 1; the other one is the batch"),
        ),
    ),
    defaults={"mask_value": 0},
    flops=no_flops,
    relax=lambda R, attrs, x, n: by_topi("sequence_mask", x, n, attrs.mask_value, attrs.axis),
    pattern=OpPattern.INJECTIVE,
    doc="data with all elements after the end of each sequence replaced by mask_value.",
)


def reverse_sequence_relation(attrs: AnyValue, data: Type | None, lengths: Type | None) -> Types:
    """One integer length per element of batch_axis; the result has the type of data."""
    op = "reverse_sequence"
    x, n = tensors(op, "data seq_lengths", data, lengths)
    need_integers(op, "seq_lengths", n)
    if x is not None:
        axis_of(op, attrs.seq_axis, len(x.shape), "seq_axis")
        batch = x.shape[axis_of(op, attrs.batch_axis, len(x.shape), "batch_axis")]
        if n is not None and (len(n.shape) != 1 or differ(n.shape[0], batch)):
            # TVM's own tests match this part of the message.
            detail = (
                f"For reverse_sequnece seq_lengths size should match with dimension of batch axis, "
                f"but got dimension of batch_axis = {batch}, and seq_length size = {n.shape[0]}"
                if len(n.shape) == 1
                else f"found {n}"
            )
            fail(op, f"seq_lengths must be a vector of {batch}, as data {x} has; {detail}")
    return x, n, x


def reverse_sequence_reference(attrs: AnyValue, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Lengths are limited to the axis; below 2 nothing is reversed."""
    axis, batch = attrs.seq_axis % x.ndim, attrs.batch_axis % x.ndim
    out = x.copy()
    for n, length in enumerate(lengths.clip(0, x.shape[axis])):
        at: list[AnyValue] = [slice(None)] * x.ndim
        if axis == batch:
            at[axis] = n
            source = list(at)
            source[axis] = length - 1 - n if n < length else n
            out[tuple(at)] = x[tuple(source)]
            continue
        at[batch], at[axis] = n, slice(0, int(length))
        kept = axis - (batch < axis)
        out[tuple(at)] = np.flip(x[tuple(at)], kept)
    return out


define_op(
    "reverse_sequence",
    "data seq_lengths",
    reverse_sequence_relation,
    reference=reverse_sequence_reference,
    attrs=AttrsType(
        "relay.attrs.ReverseSequenceAttrs",
        (
            Attr("seq_axis", integer, 1, "axis to reverse"),
            Attr("batch_axis", integer, 0, "batch axis, with one length per element"),
        ),
    ),
    flops=no_flops,
    relax=lambda R, attrs, x, n: by_topi(
        "reverse_sequence", x, n, attrs.seq_axis, attrs.batch_axis
    ),
    pattern=OpPattern.INJECTIVE,
    doc="data with the first seq_lengths elements of each sequence reversed.",
)

# sliding_window, meshgrid ------------------------------------------------------------------------


def sliding_relation(attrs: AnyValue, data: Type | None) -> Types:
    """Axes from `axis` on become (windows of each..., window_shape...)."""
    op = "sliding_window"
    (x,) = tensors(op, "data", data)
    if x is None:
        return None, None
    axis = axis_of(op, attrs.axis, len(x.shape))
    if not attrs.window_shape:
        fail(op, "attribute window_shape must hold at least one number")
    need_length(op, "window_shape", attrs.window_shape, len(x.shape) - axis)
    need_length(op, "strides", attrs.strides, len(attrs.window_shape))
    if min(*attrs.strides, *attrs.window_shape) < 1:
        fail(op, f"window_shape {attrs.window_shape} and strides {attrs.strides} must be positive")
    counts = []
    for length, size, step in zip(x.shape[axis:], attrs.window_shape, attrs.strides, strict=True):
        count = dim(lambda n, k=size, s=step: (n - k) // s + 1, length)
        if isinstance(count, int) and count < 1:
            fail(op, f"a window of {size} does not fit into {length}, an axis of {x}")
        counts.append(count)
    return x, TensorType((*x.shape[:axis], *counts, *attrs.window_shape), x.dtype)


def sliding_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    axis = attrs.axis % x.ndim
    view = np.lib.stride_tricks.sliding_window_view(
        x, attrs.window_shape, axis=tuple(range(axis, x.ndim))
    )
    steps = tuple(slice(None, None, s) for s in attrs.strides)
    return view[(slice(None),) * axis + steps].copy()


define_op(
    "sliding_window",
    "data",
    sliding_relation,
    reference=sliding_reference,
    attrs=AttrsType(
        "relay.attrs.SlidingWindowAttrs",
        (
            Attr("axis", integer, doc="first axis of the window, which covers all later axes"),
            Attr("window_shape", integers, doc="size of the window"),
            Attr("strides", integers, doc="step of the window"),
        ),
    ),
    flops=no_flops,
    relax=lambda R, attrs, x: by_topi(
        "sliding_window",
        x,
        attrs.axis % rank_of(x),
        list(attrs.window_shape),
        list(attrs.strides),
    ),
    pattern=OpPattern.OPAQUE,
    doc="All windows over the last axes of data, as new axes.",
)


def meshgrid_relation(attrs: AnyValue, data: Type | None) -> Types:
    """n vectors or scalars give n tensors with the lengths of all; "xy" swaps the first two."""
    op = "meshgrid"
    if is_incomplete(data):
        return data, None
    if attrs.indexing not in ("ij", "xy"):
        fail(op, f"attribute indexing must be ij or xy, found {attrs.indexing!r}")
    lengths, kinds = [], []
    for n, field in enumerate(tensor_fields(op, "data", data)):
        if len(field.shape) > 1:
            fail(op, f"field {n} of data must be a vector or a scalar, found {field}")
        lengths.append(field.shape[0] if field.shape else 1)
        kinds.append(field.dtype)
    if len(set(kinds)) > 1:
        fail(op, f"the tensors of data must have one dtype, found {', '.join(kinds)}")
    if attrs.indexing == "xy" and len(lengths) > 1:
        lengths[:2] = lengths[1::-1]
    return data, TupleType([TensorType(lengths, kinds[0])] * len(kinds))


def _meshgrid_results(call: Call) -> int | None:
    """One per vector; None if the operand is not a tuple expression."""
    vectors = call.args[0]
    return len(vectors.fields) if isinstance(vectors, Tuple) else None


define_op(
    "meshgrid",
    "data*",
    meshgrid_relation,
    reference=lambda attrs, data: tuple(
        np.ascontiguousarray(g) for g in np.meshgrid(*data, indexing=attrs.indexing)
    ),
    attrs=AttrsType(
        "relay.attrs.MeshgridAttrs",
        (Attr("indexing", string, "ij", "order of the first two axes: ij (as given) or xy"),),
    ),
    flops=no_flops,
    relax=lambda R, attrs, data: by_topi("meshgrid", list(data), attrs.indexing),
    pattern=OpPattern.INJECTIVE,
    results=_meshgrid_results,
    doc="The coordinates of a grid spanned by vectors, one tensor per vector.",
)

# searchsorted ------------------------------------------------------------------------------------


def search_relation(attrs: AnyValue, ordered: Type | None, values: Type | None) -> Types:
    """A vector, or as many rows as values has; the shape of values, of the attribute's dtype."""
    op = "searchsorted"
    s, v = tensors(op, "sorted_sequence values", ordered, values)
    if attrs.dtype not in ("int32", "int64"):
        fail(op, f"attribute dtype must be int32 or int64, found {attrs.dtype!r}")
    if s is None or v is None:
        return s, v, None
    if not s.shape or not v.shape:
        fail(op, f"sorted_sequence and values must have an axis, found {s} and {v}")
    if len(s.shape) > 1 and (
        len(s.shape) != len(v.shape)
        or any(differ(a, b) for a, b in zip(s.shape[:-1], v.shape[:-1], strict=True))
    ):
        fail(op, f"values must have the axes of {s} but the last, found {v}")
    return s, v, TensorType(v.shape, attrs.dtype)


def search_reference(attrs: AnyValue, ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    side: AnyValue = "right" if attrs.right else "left"
    if ordered.ndim == 1:
        return np.searchsorted(ordered, values, side).astype(attrs.dtype)
    rows = ordered.reshape(-1, ordered.shape[-1])
    searched = values.reshape(len(rows), -1)
    indices = [np.searchsorted(r, v, side) for r, v in zip(rows, searched, strict=True)]
    return np.stack(indices).reshape(values.shape).astype(attrs.dtype)


define_op(
    "searchsorted",
    "sorted_sequence values",
    search_relation,
    reference=search_reference,
    attrs=AttrsType(
        "relay.attrs.SearchSortedAttrs",
        (
            Attr("right", boolean, False, "True: index after equal elements; False: before"),
            Attr("dtype", dtype, dtype("int32"), "dtype of the result: int32 or int64"),
        ),
    ),
    flops=lambda attrs, args, result: comparisons(prod(result.shape), args[0].shape[-1]),
    relax=lambda R, attrs, s, v: by_topi("searchsorted", s, v, attrs.right, attrs.dtype),
    pattern=OpPattern.OPAQUE,
    doc="The index in sorted_sequence at which each value would be inserted.",
)

# unravel_index, invert_permutation, adv_index ----------------------------------------------------


def unravel_relation(attrs: AnyValue, indices: Type | None, shape: Type | None) -> Types:
    """A scalar gives (axes,), a vector (axes, its length): a row for each axis of the shape."""
    op = "unravel_index"
    i, s = tensors(op, "indices shape", indices, shape)
    for name, ty in (("indices", i), ("shape", s)):
        need_integers(op, name, ty)
    if i is None or s is None:
        return i, s, None
    if len(i.shape) > 1:
        fail(op, f"indices must be a scalar or a vector, found {i}")
    need_rank(op, "shape", s, 1)
    return i, s, TensorType((s.shape[0], *i.shape), i.dtype)


def _unravel_relax(R: AnyValue, attrs: AnyValue, indices: AnyValue, shape: AnyValue) -> AnyValue:
    """Dividing by the strides; TOPI's own loop gives no result for a vector of one axis."""
    lengths = [int(d) for d in constant_array(shape, "unravel_index", "shape")]
    kind = dtype_of(indices)
    from tvm import relax

    rows = []
    for n, length in enumerate(lengths):
        stride = relax.const(prod(lengths[n + 1 :]), kind)
        whole = R.floor_divide(indices, stride)
        rows.append(R.floor_mod(whole, relax.const(length, kind)) if n else whole)
    return R.stack(rows, axis=0)


define_op(
    "unravel_index",
    "indices shape",
    unravel_relation,
    reference=lambda attrs, i, shape: np.stack(
        np.unravel_index(i.astype(np.int64), tuple(shape.astype(np.int64)))
    ).astype(i.dtype),
    flops=per_element(2),
    relax=_unravel_relax,
    pattern=OpPattern.INJECTIVE,
    doc="Indices into a flattened tensor converted to indices per axis of shape.",
)


def invert_relation(attrs: AnyValue, data: Type | None) -> Types:
    """A vector of integers; the result has the type of data."""
    (x,) = tensors("invert_permutation", "data", data)
    if x is not None:
        need_rank("invert_permutation", "data", x, 1)
        need_integers("invert_permutation", "data", x)
    return x, x


define_op(
    "invert_permutation",
    "data",
    invert_relation,
    reference=lambda attrs, x: np.argsort(x, kind="stable").astype(x.dtype),
    flops=no_flops,
    relax=lambda R, attrs, x: R.argsort(x, dtype=dtype_of(x)),
    pattern=OpPattern.INJECTIVE,
    doc="The inverse of a permutation: out[data[i]] = i.",
)


def adv_index_relation(attrs: AnyValue, inputs: Type | None) -> Types:
    """(data, indices...): the indices broadcast together and replace the first axes of data."""
    op = "adv_index"
    if is_incomplete(inputs):
        return inputs, None
    data, *indices = tensor_fields(op, "inputs", inputs)
    if not indices:
        fail(op, f"inputs must be a tuple of data and at least one tensor of indices: {inputs}")
    if len(indices) > len(data.shape):
        fail(op, f"{len(indices)} tensors of indices are too many for data {data}")
    common = indices[0]
    for n, i in enumerate(indices):
        need_integers(op, f"field {n + 1} of inputs", i)
        common = TensorType(broadcast(op, common, i), common.dtype)
    return inputs, TensorType((*common.shape, *data.shape[len(indices) :]), data.dtype)


define_op(
    "adv_index",
    "inputs*",
    adv_index_relation,
    reference=lambda attrs, inputs: inputs[0][tuple(i.astype(np.int64) for i in inputs[1:])],
    flops=no_flops,
    relax=lambda R, attrs, inputs: by_topi("adv_index", inputs[0], list(inputs)[1:]),
    pattern=OpPattern.INJECTIVE,
    doc="data[i, j, ...] for inputs (data, i, j, ...), as in NumPy.",
)
