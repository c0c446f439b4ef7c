"""Operators on quantized operands of different scales: qnn.add, subtract, mul, concatenate.

Source: src/relay/qnn/op/add.cc, subtract.cc, mul.cc and concatenate.cc of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, attrs_type, integer, string
from byoc_lab.relay.ir.expr import TupleWrapper
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework import broadcast_layouts, layout_rules
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import Types, broadcast, fail, need_one_of, tensors
from byoc_lab.relay.op.framework.relax_types import dtype_of, rank_of
from byoc_lab.relay.op.qnn.math import (
    ROUNDINGS,
    broadcast_scales,
    check_dtype,
    check_scalar,
    check_vector,
    constants,
    relax_constant,
    relax_requantized,
    relax_saturated,
    requantized,
    saturated,
)
from byoc_lab.relay.op.tensor.join import concatenate_relation

NAMES = "lhs rhs lhs_scale lhs_zero_point rhs_scale rhs_zero_point output_scale output_zero_point"
BROADCAST_ATTRS = AttrsType(
    "relay.attrs.BroadcastAttrs",
    (
        Attr("lhs_axis", integer, -1, "channel axis of lhs, for a lhs_scale per channel"),
        Attr("rhs_axis", integer, -1, "channel axis of rhs, for a rhs_scale per channel"),
        Attr(
            "rounding",
            string,
            "None",
            "rounding of halves: UPWARD, TONEAREST or TOEVEN; None: as configured",
            beyond_tvm=True,
        ),
    ),
)


def _length(ty: TensorType, axis: int) -> AnyValue:
    return ty.shape[axis] if -len(ty.shape) <= axis < len(ty.shape) else 1


def _relation(op: str):
    def relation(attrs: AnyValue, *types: Type | None) -> Types:
        """lhs and rhs have one dtype and broadcast; the result has their dtype. As in TVM, float32
        is typed too, but cannot be computed."""
        operands = tensors(op, NAMES, *types)
        a, b, a_scale, a_zero, b_scale, b_zero, scale, zero = operands
        need_one_of(op, "rounding", attrs.rounding, ROUNDINGS)
        check_scalar(op, "output_scale", scale, "float32")
        check_scalar(op, "output_zero_point", zero, "int32")
        if a is None or b is None:
            return *operands, None
        if a.dtype != b.dtype:
            fail(op, f"lhs and rhs must have one dtype, found {a} and {b}; requantize one of them")
        check_dtype(op, "lhs", a.dtype, "int8", "uint8", "int16", "int32", "float32")
        for side, ty, s, z in (("lhs", a, a_scale, a_zero), ("rhs", b, b_scale, b_zero)):
            channels = _length(ty, attrs[f"{side}_axis"])
            check_vector(op, f"{side}_scale", s, "float32", channels)
            check_vector(op, f"{side}_zero_point", z, "int32", channels)
        return *operands, TensorType(broadcast(op, a, b), a.dtype)

    return relation


def _sum_reference(sign: int):
    def reference(attrs: AnyValue, *args: np.ndarray) -> np.ndarray:
        """Requantizes both operands to the scale of the result, int32, and adds them."""
        a, b, a_scale, a_zero, b_scale, b_zero, scale, zero = args
        how = attrs.rounding
        lhs = requantized(a, (a_scale, scale), (a_zero, zero), "int32", attrs.lhs_axis, how)
        rhs = requantized(b, (b_scale, scale), (b_zero, zero), "int32", attrs.rhs_axis, how)
        offset = zero.reshape(()).astype(np.int64)
        total = lhs.astype(np.int64) + sign * rhs.astype(np.int64) - sign * offset
        return saturated(total, a.dtype.name)

    return reference


def _sum_relax(op: str, sign: int):
    def relax(R: AnyValue, attrs: AnyValue, a: AnyValue, b: AnyValue, *rest: AnyValue) -> AnyValue:
        names = NAMES.split(" ", 2)[2]
        a_scale, a_zero, b_scale, b_zero, scale, zero = constants(op, names, *rest)
        pairs = (a_scale, scale), (a_zero, zero)
        lhs = relax_requantized(R, op, a, *pairs, "int32", attrs.lhs_axis, attrs.rounding)
        pairs = (b_scale, scale), (b_zero, zero)
        rhs = relax_requantized(R, op, b, *pairs, "int32", attrs.rhs_axis, attrs.rounding)
        combine = R.add if sign > 0 else R.subtract
        total = combine(R.astype(lhs, "int64"), R.astype(rhs, "int64"))
        offset = relax_constant(sign * zero.reshape(()).astype(np.int64), "int64")
        return relax_saturated(R, R.subtract(total, offset), dtype_of(a))

    return relax


for _op, _sign, _doc in (
    ("qnn.add", 1, "The sum of two quantized tensors."),
    ("qnn.subtract", -1, "The difference of two quantized tensors."),
):
    define_op(
        _op,
        NAMES,
        _relation(_op),
        reference=_sum_reference(_sign),
        attrs=BROADCAST_ATTRS,
        flops=per_element(9),
        relax=_sum_relax(_op, _sign),
        pattern=OpPattern.BROADCAST,
        layout=layout_rules.quantized(broadcast_layouts.broadcast),
        doc=_doc,
    )


def _product_scale(attrs: AnyValue, a_scale: np.ndarray, b_scale: np.ndarray) -> AnyValue:
    """The scale of the product and its channel axis. Raises ValueError for two different axes."""
    both = a_scale.size > 1 and b_scale.size > 1
    if both and attrs.lhs_axis != attrs.rhs_axis:
        raise ValueError(
            f"qnn.mul: scales per channel must share an axis, found lhs_axis={attrs.lhs_axis} "
            f"and rhs_axis={attrs.rhs_axis}"
        )
    product = a_scale.reshape(-1) * b_scale.reshape(-1)
    return product, attrs.lhs_axis if a_scale.size > 1 else attrs.rhs_axis


def mul_reference(attrs: AnyValue, *args: np.ndarray) -> np.ndarray:
    """The int32 product without zero points has the product of the scales as its scale."""
    a, b, a_scale, a_zero, b_scale, b_zero, scale, zero = args
    lhs = a.astype(np.int32) - broadcast_scales(a_zero, attrs.lhs_axis, a.ndim)
    rhs = b.astype(np.int32) - broadcast_scales(b_zero, attrs.rhs_axis, b.ndim)
    both, axis = _product_scale(attrs, a_scale, b_scale)
    return requantized(lhs * rhs, (both, scale), (0, zero), a.dtype.name, axis, attrs.rounding)


def _mul_relax(R: AnyValue, attrs: AnyValue, a: AnyValue, b: AnyValue, *rest: AnyValue) -> AnyValue:
    op, names = "qnn.mul", NAMES.split(" ", 2)[2]
    a_scale, a_zero, b_scale, b_zero, scale, zero = constants(op, names, *rest)
    a_across = broadcast_scales(a_zero, attrs.lhs_axis, rank_of(a))
    b_across = broadcast_scales(b_zero, attrs.rhs_axis, rank_of(b))
    lhs = R.subtract(R.astype(a, "int32"), relax_constant(a_across, "int32"))
    rhs = R.subtract(R.astype(b, "int32"), relax_constant(b_across, "int32"))
    try:
        both, axis = _product_scale(attrs, a_scale, b_scale)
    except ValueError as error:
        raise BuildError(str(error)) from None
    pairs = (both, scale), (np.int32(0), zero)
    rank = max(rank_of(a), rank_of(b))
    product = R.multiply(lhs, rhs)
    return relax_requantized(R, op, product, *pairs, dtype_of(a), axis, attrs.rounding, rank=rank)


define_op(
    "qnn.mul",
    NAMES,
    _relation("qnn.mul"),
    reference=mul_reference,
    attrs=BROADCAST_ATTRS,
    flops=per_element(7),
    relax=_mul_relax,
    pattern=OpPattern.BROADCAST,
    layout=layout_rules.quantized(broadcast_layouts.broadcast),
    doc="The product of two quantized tensors.",
)

# qnn.concatenate ---------------------------------------------------------------------------------

CONCATENATE = "qnn.concatenate"


def qnn_concatenate_relation(attrs: AnyValue, *types: Type | None) -> Types:
    """As for concatenate, with a scalar float32 scale and a scalar int32 zero point for each
    tensor."""
    data, scales, zeros, scale, zero = types
    data, result = concatenate_relation(attrs, data)
    if result is None:
        return *types, None
    assert isinstance(data, TupleType)
    for name, ty, kind in (
        ("input_scales", scales, "float32"),
        ("input_zero_points", zeros, "int32"),
    ):
        if ty is None or ty.has_holes:
            continue
        if not isinstance(ty, TupleType) or len(ty.fields) != len(data.fields):
            fail(CONCATENATE, f"{name} must be a tuple of {len(data.fields)} scalars, found {ty}")
        for n, field in enumerate(ty.fields):
            (t,) = tensors(CONCATENATE, "field", field)
            check_scalar(CONCATENATE, f"field {n} of {name}", t, kind)
    out_scale, out_zero = tensors(CONCATENATE, "output_scale output_zero_point", scale, zero)
    check_scalar(CONCATENATE, "output_scale", out_scale, "float32")
    check_scalar(CONCATENATE, "output_zero_point", out_zero, "int32")
    return *types, result


def qnn_concatenate_reference(attrs: AnyValue, *args: AnyValue) -> np.ndarray:
    data, scales, zeros, scale, zero = args
    parts = [
        requantized(x, (s, scale), (z, zero), x.dtype.name)
        for x, s, z in zip(data, scales, zeros, strict=True)
    ]
    return np.concatenate(parts, attrs.axis)


def _qnn_concatenate_relax(R: AnyValue, attrs: AnyValue, *args: AnyValue) -> AnyValue:
    data, scales, zeros, scale, zero = args
    out_scale, out_zero = constants(CONCATENATE, "output_scale output_zero_point", scale, zero)
    parts = []
    for x, s, z in zip(data, scales, zeros, strict=True):
        own_scale, own_zero = constants(CONCATENATE, "input_scales input_zero_points", s, z)
        pairs = (own_scale, out_scale), (own_zero, out_zero)
        parts.append(relax_requantized(R, CONCATENATE, x, *pairs, dtype_of(x)))
    return R.concat(parts, axis=attrs.axis)


def _unwrap_tuple(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
    """Replaces a TupleWrapper by its tuple, as TVM does (`relay.concatenate` makes a new tuple of
    its projections)."""
    data = values["data"]
    return {**values, "data": data.tuple_value if isinstance(data, TupleWrapper) else data}


define_op(
    CONCATENATE,
    "data* input_scales* input_zero_points* output_scale output_zero_point",
    qnn_concatenate_relation,
    arithmetic=Arithmetic.OTHER,
    reference=qnn_concatenate_reference,
    attrs=attrs_type("relay.attrs.ConcatenateAttrs"),
    flops=per_element(4),
    relax=_qnn_concatenate_relax,
    pattern=OpPattern.INJECTIVE,
    defaults={"axis": REQUIRED},
    layout=layout_rules.quantized(layout_rules.concatenate),
    normalize=_unwrap_tuple,
    doc="Quantized tensors (a list, or an expression of tuple type) requantized to one scale and "
    "joined along one axis.",
)
