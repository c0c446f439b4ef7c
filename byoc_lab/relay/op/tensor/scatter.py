"""Operators that write into a copy of a tensor: scatter_elements, scatter_nd, strided_set, trilu.

Source: `ScatterElementsRel`, `ScatterNDRel`, `StridedSetRel`, `TriluRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, boolean, integer, string
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.expr import Expr, const
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.op.framework.costs import no_flops
from byoc_lab.relay.op.framework.from_relax import RelaxCall, number, reads, relay_call
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    axis_of,
    differ,
    fail,
    need_integers,
    need_one_of,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import (
    by_topi,
    constant_array,
    constant_value,
    is_empty,
    shape_of,
    typed,
)

# scatter_elements, scatter_nd --------------------------------------------------------------------

REDUCTIONS = {
    "update": None,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "mean": np.add,
}


def _arithmetic(reduction: str) -> Arithmetic:
    return Arithmetic.EXACT if reduction in ("update", "min", "max") else Arithmetic.OTHER


def _written(out: np.ndarray, place: AnyValue, updates: np.ndarray, reduction: str) -> np.ndarray:
    """`out` with `updates` written at `place`; repeated indices are written in order."""
    function = REDUCTIONS[reduction]
    if function is None:
        out[place] = updates
        return out
    function.at(out, place, updates)
    if reduction == "mean":
        counts = np.ones(out.shape, out.dtype)
        np.add.at(counts, place, np.ones(updates.shape, out.dtype))
        out = (out / counts).astype(out.dtype, copy=False)
    return out


def scatter_elements_relation(
    attrs: AnyValue, data: Type | None, indices: Type | None, updates: Type | None
) -> Types:
    """indices and updates have the rank of data; the result has the type of data."""
    op = "scatter_elements"
    x, i, u = tensors(op, "data indices updates", data, indices, updates)
    need_integers(op, "indices", i)
    need_one_of(op, "reduction", attrs.reduction, REDUCTIONS)
    if x is not None:
        axis_of(op, attrs.axis, len(x.shape))
        for name, ty in (("indices", i), ("updates", u)):
            if ty is not None and len(ty.shape) != len(x.shape):
                fail(op, f"{name} must have the {len(x.shape)} axes of data {x}, found {ty}")
    return x, i, u, x


def scatter_elements_reference(
    attrs: AnyValue, x: np.ndarray, indices: np.ndarray, updates: np.ndarray
) -> np.ndarray:
    axis = attrs.axis % x.ndim
    # As in TVM, only the updates within the shape of indices are used.
    updates = updates[tuple(slice(n) for n in indices.shape)]
    place: list[np.ndarray] = list(np.indices(indices.shape, sparse=True))
    whole = indices.astype(np.int64)
    place[axis] = np.where(whole < 0, whole + x.shape[axis], whole)
    return _written(x.copy(), tuple(place), updates.astype(x.dtype), attrs.reduction)


def _scatter_elements_relax(
    R: AnyValue, attrs: AnyValue, x: AnyValue, indices: AnyValue, updates: AnyValue
) -> AnyValue:
    def scattered(x: AnyValue, updates: AnyValue, reduction: str) -> AnyValue:
        return by_topi("scatter_elements", x, indices, updates, attrs.axis, reduction)

    return x if is_empty(indices) else _reduced(R, scattered, x, updates, attrs.reduction)


def _reduced(
    R: AnyValue, scattered: AnyValue, x: AnyValue, updates: AnyValue, reduction: str
) -> AnyValue:
    """A scatter in Relax. Relax's reduction "mean" averages pairwise, so three updates would have
    unequal weights."""
    if reduction != "mean":
        return scattered(x, updates, reduction)
    total = typed(scattered(x, updates, "add"))
    ones = (typed(R.ones_like(each)) for each in (x, updates))
    return R.divide(total, typed(scattered(*ones, "add")))


define_op(
    "scatter_elements",
    "data indices updates",
    scatter_elements_relation,
    reference=scatter_elements_reference,
    attrs=AttrsType(
        "relay.attrs.ScatterElementsAttrs",
        (
            Attr("axis", integer, 0, "axis of the indices"),
            Attr("reduction", string, "update", f"for repeated indices: {', '.join(REDUCTIONS)}"),
        ),
    ),
    attrs_key="",
    flops=lambda attrs, args, result: 0 if attrs.reduction == "update" else prod(args[2].shape),
    relax=_scatter_elements_relax,
    pattern=OpPattern.OPAQUE,
    doc="data with updates written at indices along one axis.",
    mixed_precision=FOLLOW,
    arithmetic=lambda attrs: _arithmetic(attrs.reduction),
)


def scatter_nd_relation(
    attrs: AnyValue, data: Type | None, indices: Type | None, updates: Type | None
) -> Types:
    """data (X0, X1, ...), indices (M, Y...) and updates (Y..., XM, ...); the result has the type of
    data."""
    op = "scatter_nd"
    x, i, u = tensors(op, "data indices updates", data, indices, updates)
    need_integers(op, "indices", i)
    need_one_of(op, "mode", attrs.mode, REDUCTIONS)
    if x is None or i is None:
        return x, i, u, x
    if not i.shape or isinstance(i.shape[0], Unknown):
        fail(op, f"the first axis of indices must be of a known length, found {i}")
    depth = i.shape[0]
    if depth > len(x.shape):
        fail(op, f"indices {i} name {depth} axes, data {x} has only {len(x.shape)}")
    wanted = (*i.shape[1:], *x.shape[depth:])
    if u is not None and (
        len(u.shape) != len(wanted)
        or any(differ(a, b) for a, b in zip(u.shape, wanted, strict=True))
    ):
        fail(op, f"updates must have the shape {wanted} for data {x} and indices {i}, found {u}")
    return x, i, u, x


def scatter_nd_reference(
    attrs: AnyValue, x: np.ndarray, indices: np.ndarray, updates: np.ndarray
) -> np.ndarray:
    place = tuple(indices.astype(np.int64))
    return _written(x.copy(), place, updates.astype(x.dtype), attrs.mode)


def _scatter_nd_relax(
    R: AnyValue, attrs: AnyValue, x: AnyValue, indices: AnyValue, updates: AnyValue
) -> AnyValue:
    def scattered(x: AnyValue, updates: AnyValue, mode: str) -> AnyValue:
        return by_topi("scatter_nd", x, indices, updates, mode)

    return x if is_empty(updates) else _reduced(R, scattered, x, updates, attrs.mode)


define_op(
    "scatter_nd",
    "data indices updates",
    scatter_nd_relation,
    reference=scatter_nd_reference,
    attrs=AttrsType(
        "relay.attrs.ScatterNDAttrs",
        (Attr("mode", string, "update", f"for repeated indices: {', '.join(REDUCTIONS)}"),),
    ),
    attrs_key="",
    flops=lambda attrs, args, result: 0 if attrs.mode == "update" else prod(args[2].shape),
    relax=_scatter_nd_relax,
    pattern=OpPattern.OPAQUE,
    doc="data with updates written at the positions on the first axis of indices.",
    mixed_precision=FOLLOW,
    arithmetic=lambda attrs: _arithmetic(attrs.mode),
)

# strided_set -------------------------------------------------------------------------------------


def strided_set_relation(
    attrs: AnyValue,
    data: Type | None,
    value: Type | None,
    begin: Type | None,
    end: Type | None,
    strides: Type | None,
) -> Types:
    """begin, end and strides are vectors with a number per axis; the result has the type of
    data."""
    op = "strided_set"
    operands = tensors(op, "data v begin end strides", data, value, begin, end, strides)
    x, v, *bounds = operands
    for name, ty in zip(("begin", "end", "strides"), bounds, strict=True):
        if ty is not None and len(ty.shape) != 1:
            fail(op, f"{name} must be a vector, found {ty}")
    if x is not None and v is not None and (x.dtype, len(x.shape)) != (v.dtype, len(v.shape)):
        fail(op, f"v must have the dtype and rank of data {x}, found {v}")
    return *operands, x


def _cuts(
    shape: AnyValue, begin: np.ndarray, end: np.ndarray, strides: np.ndarray
) -> tuple[slice, ...]:
    """For each axis, the slice that is set; a missing end is the end of the axis, a missing step is
    1."""
    cuts = []
    for n, length in enumerate(shape):
        step = int(strides[n]) if n < len(strides) else 1
        first = int(begin[n]) if n < len(begin) else (0 if step > 0 else length - 1)
        last = int(end[n]) if n < len(end) else (length if step > 0 else -length - 1)
        cuts.append(slice(*slice(first, last, step).indices(length)))
    return tuple(slice(c.start, None if c.stop < 0 else c.stop, c.step) for c in cuts)


def strided_set_reference(
    attrs: AnyValue,
    x: np.ndarray,
    value: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    strides: np.ndarray,
) -> np.ndarray:
    out = x.copy()
    out[_cuts(x.shape, begin, end, strides)] = value
    return out


def _strided_set_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, v: AnyValue, *bounds: AnyValue):
    """For Relax: selects, for each element of data, the element of v that replaces it, or else the
    element itself."""
    shape, op = shape_of(x), "strided_set"
    names = ("begin", "end", "strides")
    arrays = [constant_array(b, op, n) for b, n in zip(bounds, names, strict=True)]
    place = np.full(shape, -1, np.int64)
    cuts = _cuts(shape, *arrays)
    place[cuts] = np.arange(prod(shape_of(v)), dtype=np.int64).reshape(place[cuts].shape)
    from tvm import relax

    flat = R.reshape(v, (-1,))
    picked = R.take(flat, relax.const(place.clip(0)), 0, mode="clip")
    return R.where(relax.const(place >= 0), picked, x)


define_op(
    "strided_set",
    "data v begin end strides",
    strided_set_relation,
    arithmetic=Arithmetic.EXACT,
    reference=strided_set_reference,
    flops=no_flops,
    relax=_strided_set_relax,
    pattern=OpPattern.INJECTIVE,
    defaults={"strides": None},
    constants=dict.fromkeys(("begin", "end", "strides")),
    normalize=lambda values: {
        **values,
        "strides": [1] if values["strides"] is None else values["strides"],
    },
    doc="data with data[begin:end:strides] replaced by v.",
)


# trilu -------------------------------------------------------------------------------------------


def trilu_relation(attrs: AnyValue, data: Type | None, k: Type | None) -> Types:
    """data has at least two axes, k is a scalar; the result has the type of data."""
    x, diagonal = tensors("trilu", "data k", data, k)
    if x is not None and len(x.shape) < 2:
        fail("trilu", f"data must have at least two dimensions, found {x}")
    if diagonal is not None and diagonal.shape:
        fail("trilu", f"k must be a scalar, found {diagonal}")
    return x, diagonal, x


def _trilu_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, k: AnyValue) -> AnyValue:
    diagonal = int(constant_value(k, "trilu", "k"))
    return R.triu(x, diagonal) if attrs.upper else R.tril(x, diagonal)


define_op(
    "trilu",
    "data k",
    trilu_relation,
    reference=lambda attrs, x, k: (np.triu if attrs.upper else np.tril)(x, int(k)),
    attrs=AttrsType(
        "relay.attrs.TriluAttrs",
        (Attr("upper", boolean, True, "True: the upper triangle; False: the lower one"),),
    ),
    attrs_key="",
    relax=_trilu_relax,
    pattern=OpPattern.ELEMWISE,
    constants={"k": "int32"},
    doc="The upper or lower triangle of matrices, starting at diagonal k; 0 elsewhere.",
    arithmetic=Arithmetic.COPY,
)


@reads("tril", "triu")
def _triangle(call: RelaxCall, x: Expr, k: AnyValue = 0) -> Expr:
    offset = const(np.int32(number(k)))
    return relay_call("trilu", x, offset, upper=call.name == "triu")
