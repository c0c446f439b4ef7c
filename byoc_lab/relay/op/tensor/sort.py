"""Sorting and running sums. Source: `ArgsortRel`, `SortRel`, `TopKRel`, `ScanopRel` of TVM 0.16."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, boolean, dtype, integer, string
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.costs import comparisons, per_element
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import renamed, same
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    NO_DTYPE,
    axis_of,
    fail,
    need_one_of,
    product,
    type_along_axis,
)
from byoc_lab.relay.op.framework.relax_types import dtype_of, fields_of, rank_of, shape_of, typed

AXIS = Attr("axis", integer, -1, "axis to sort along")
DTYPE = Attr("dtype", dtype, NO_DTYPE, "dtype of the indices")
SORT_ATTRS = AttrsType(
    "relay.attrs.ArgsortAttrs",
    (AXIS, Attr("is_ascend", boolean, True, "True: ascending order; False: descending"), DTYPE),
)


def sorting_flops(attrs: AnyValue, args: AnyValue, result: AnyValue) -> int:
    """n log2 n comparisons for each sorted row."""
    shape = args[0].shape
    return comparisons(prod(shape), shape[attrs.axis] if shape else 1)


def _order(x: np.ndarray, axis: int, ascending: bool) -> np.ndarray:
    """Indices that sort; stable, as in TVM."""
    if ascending:
        return np.argsort(x, axis, kind="stable")
    turned = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - turned, axis)


# Of the integers, TVM's sort supports only int32 and int64.
WIDER = dict.fromkeys(("bool", "int8", "uint8", "int16", "uint16"), "int32") | {"uint32": "int64"}


def _sortable(R: AnyValue, x: AnyValue) -> AnyValue:
    """A Relax tensor cast to a dtype that TVM's sort supports, which preserves the order."""
    wider = WIDER.get(dtype_of(x))
    return typed(R.astype(x, wider)) if wider else x


def _narrow(R: AnyValue, sorted_: AnyValue, x: AnyValue) -> AnyValue:
    """Sorted elements of `x`, cast back to the dtype of `x`."""
    return R.astype(typed(sorted_), dtype_of(x)) if dtype_of(x) in WIDER else sorted_


def argsort_type(attrs: AnyValue, x: TensorType) -> Type:
    """The shape of data, the dtype of the attribute."""
    axis_of("argsort", attrs.axis, len(x.shape))
    return TensorType(x.shape, attrs.dtype)


define_op(
    "argsort",
    "data",
    result_type=argsort_type,
    from_relax={"argsort": renamed(is_ascend=lambda attrs: not attrs.descending)},
    reference=lambda attrs, x: _order(x, attrs.axis, attrs.is_ascend).astype(attrs.dtype),
    attrs=SORT_ATTRS,
    defaults={"is_ascend": 1, "dtype": "int32"},
    flops=sorting_flops,
    relax=lambda R, attrs, x: R.argsort(
        _sortable(R, x), attrs.axis, not attrs.is_ascend, attrs.dtype
    ),
    pattern=OpPattern.OPAQUE,
    doc="The indices that would sort data along one axis.",
)


define_op(
    "sort",
    "data",
    result_type=partial(type_along_axis, "sort"),
    from_relax={"sort": renamed(is_ascend=lambda attrs: not attrs.descending)},
    reference=lambda attrs, x: np.take_along_axis(
        x, _order(x, attrs.axis, attrs.is_ascend), attrs.axis
    ),
    attrs=SORT_ATTRS,
    flops=sorting_flops,
    relax=lambda R, attrs, x: _narrow(
        R, R.sort(_sortable(R, x), attrs.axis, not attrs.is_ascend), x
    ),
    pattern=OpPattern.OPAQUE,
    parameters="data axis is_ascend",  # sort has no attribute dtype
    defaults={"is_ascend": 1},
    doc="data sorted along one axis.",
    arithmetic=Arithmetic.EXTREME,
)


RETURNS = ("both", "values", "indices")


def topk_type(attrs: AnyValue, x: TensorType) -> Type:
    """data with size k along the axis (k=0: unchanged), its indices, or a tuple of both."""
    op = "topk"
    need_one_of(op, "ret_type", attrs.ret_type, RETURNS)
    if attrs.k is None:
        fail(op, "attribute k must be given")
    axis = axis_of(op, attrs.axis, len(x.shape))
    whole = x.shape[axis]
    if not isinstance(whole, Unknown) and attrs.k > whole:
        fail(op, f"attribute k={attrs.k} is more than the {whole} elements along axis {axis}")
    length = whole if attrs.k < 1 else attrs.k
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    values, indices = TensorType(shape, x.dtype), TensorType(shape, attrs.dtype)
    both = TupleType((values, indices))
    return {"both": both, "values": values, "indices": indices}[attrs.ret_type]


def topk_reference(attrs: AnyValue, x: np.ndarray) -> AnyValue:
    order = _order(x, attrs.axis, attrs.is_ascend)
    if attrs.k > 0:
        order = np.take(order, range(attrs.k), attrs.axis)
    values, indices = np.take_along_axis(x, order, attrs.axis), order.astype(attrs.dtype)
    return {"both": (values, indices), "values": values, "indices": indices}[attrs.ret_type]


def _topk_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    from tvm import relax

    k = attrs.k if attrs.k > 0 else shape_of(x)[attrs.axis]
    found = R.topk(_sortable(R, x), k, attrs.axis, attrs.ret_type, not attrs.is_ascend, attrs.dtype)
    if attrs.ret_type == "indices" or dtype_of(x) not in WIDER:
        return found
    if attrs.ret_type == "values":
        return _narrow(R, found, x)
    values, indices = fields_of(typed(found))
    return relax.Tuple([_narrow(R, values, x), indices])


define_op(
    "topk",
    "data",
    result_type=topk_type,
    from_relax={"topk": renamed(is_ascend=lambda attrs: not attrs.largest)},
    reference=topk_reference,
    attrs=AttrsType(
        "relay.attrs.TopkAttrs",
        (
            Attr("k", integer, REQUIRED, "number of elements; 0: all", may_be_none=True),
            AXIS,
            Attr("ret_type", string, "both", "result: values, indices or both"),
            Attr("is_ascend", boolean, False, "True: the smallest elements; False: the largest"),
            DTYPE,
        ),
    ),
    defaults={"k": 1, "dtype": "int32"},
    flops=sorting_flops,
    relax=_topk_relax,
    pattern=OpPattern.OPAQUE,
    fake_quantized=FakeQuantized.TOPK,
    results=lambda call: 2 if call.attrs.ret_type == "both" else None,
    layout=layout_rules.along_axis(results=lambda attrs: 2 if attrs.ret_type == "both" else 1),
    doc="The k largest elements along one axis, in descending order.",
    arithmetic=Arithmetic.ORDER,
)


def _scan(op: str, function, doc: str) -> None:
    def result_type(attrs: AnyValue, x: TensorType) -> Type:
        """The shape of data, or flat without axis; the dtype of the attribute, or of data."""
        kind = attrs.dtype or x.dtype
        if attrs.axis is None:
            return TensorType((product(x.shape),), kind)
        axis_of(op, attrs.axis, len(x.shape))
        return TensorType(x.shape, kind)

    def reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
        kind = np.dtype(attrs.dtype or x.dtype)
        x = x.reshape(-1) if attrs.axis is None else x
        axis = 0 if attrs.axis is None else attrs.axis
        out = function(x, axis=axis, dtype=kind)
        if not attrs.exclusive:
            return out
        first = np.full_like(np.take(out, [0], axis), 0 if op == "cumsum" else 1)
        return np.concatenate([first, np.take(out, range(x.shape[axis] - 1), axis)], axis)

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
        kind = attrs.dtype or dtype_of(x)
        if attrs.axis is None and rank_of(x) != 1:
            x = R.reshape(x, (-1,))
        return getattr(R, op)(x, attrs.axis or 0, kind, bool(attrs.exclusive))

    define_op(
        op,
        "data",
        result_type=result_type,
        reference=reference,
        attrs=SCAN_ATTRS,
        attrs_key="",
        defaults={"dtype": None, "exclusive": None},
        flops=per_element(1),
        relax=relax,
        pattern=OpPattern.OPAQUE,
        from_relax={op: same},
        doc=doc,
    )


def flag(value: AnyValue) -> bool:
    """A bool attribute that TVM, unlike other bools, stores as an object."""
    return boolean(value)


SCAN_ATTRS = AttrsType(
    "relay.attrs.ScanopAttrs",
    (
        Attr("axis", integer, None, "axis to accumulate along; None: the flattened data"),
        Attr("dtype", dtype, NO_DTYPE, "dtype of the result; empty: the dtype of the data"),
        Attr(
            "exclusive",
            flag,
            False,
            "whether to exclude the element itself; None: no",
            may_be_none=True,
        ),
    ),
)
_scan("cumsum", np.cumsum, "The cumulative sum along one axis.")
_scan("cumprod", np.cumprod, "The cumulative product along one axis.")
