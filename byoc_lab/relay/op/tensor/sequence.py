"""Operators on sequences and indices: reverse_sequence, meshgrid, unravel_index, adv_index.

Source: `ReverseSequenceRel`, `MeshgridRel`, `UnRavelIndexRel`, `AdvIndexRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, integer, string
from byoc_lab.relay.ir.expr import Call, Tuple
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    axis_of,
    broadcast,
    differ,
    fail,
    is_incomplete,
    need_integers,
    need_rank,
    tensor_fields,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import by_topi, constant_array, dtype_of

# reverse_sequence --------------------------------------------------------------------------------


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
    """seq_lengths are limited to the size of the axis; a length below 2 reverses nothing."""
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
    arithmetic=Arithmetic.INDEXED,
    reference=reverse_sequence_reference,
    attrs=AttrsType(
        "relay.attrs.ReverseSequenceAttrs",
        (
            Attr("seq_axis", integer, 1, "axis to reverse"),
            Attr("batch_axis", integer, 0, "batch axis, with one length per element"),
        ),
    ),
    relax=lambda R, attrs, x, n: by_topi(
        "reverse_sequence", x, n, attrs.seq_axis, attrs.batch_axis
    ),
    pattern=OpPattern.INJECTIVE,
    doc="data with the first seq_lengths elements of each sequence reversed.",
)

# meshgrid ----------------------------------------------------------------------------------------


def meshgrid_relation(attrs: AnyValue, data: Type | None) -> Types:
    """n vectors or scalars give n tensors whose axes have the sizes of all; "xy" swaps the first
    two."""
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
    """The number of results, one per vector; None if the operand is not a tuple expression."""
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
    relax=lambda R, attrs, data: by_topi("meshgrid", list(data), attrs.indexing),
    pattern=OpPattern.INJECTIVE,
    results=_meshgrid_results,
    doc="The coordinates of a grid spanned by vectors, one tensor per vector.",
)


# unravel_index, adv_index ------------------------------------------------------------------------


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
    """For Relax: divides by the strides, because TOPI's loop computes nothing for a shape with one
    axis."""
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
    arithmetic=Arithmetic.EXACT,
    reference=lambda attrs, i, shape: np.stack(
        np.unravel_index(i.astype(np.int64), tuple(shape.astype(np.int64)))
    ).astype(i.dtype),
    flops=per_element(2),
    relax=_unravel_relax,
    pattern=OpPattern.INJECTIVE,
    doc="Indices into a flattened tensor converted to indices per axis of shape.",
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
    arithmetic=Arithmetic.INDEXED,
    reference=lambda attrs, inputs: inputs[0][tuple(i.astype(np.int64) for i in inputs[1:])],
    relax=lambda R, attrs, inputs: by_topi("adv_index", inputs[0], list(inputs)[1:]),
    pattern=OpPattern.INJECTIVE,
    doc="data[i, j, ...] for inputs (data, i, j, ...), as in NumPy.",
)
