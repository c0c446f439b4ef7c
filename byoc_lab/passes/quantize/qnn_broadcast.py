"""qnn.add, qnn.subtract, qnn.mul and qnn.concatenate lowered, for operands of different scales.

Source: src/relay/qnn/op/add.cc, subtract.cc, mul.cc and concatenate.cc of TVM 0.16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.quantize.qnn_requantize import Quantized, requantized, requantized_or_cast
from byoc_lab.passes.quantize.qnn_values import (
    flat_across,
    integer,
    is_number,
    is_scalar_constant,
    lowers,
    saturated,
    tensor_type,
    values,
)
from byoc_lab.relay.ir.expr import Call, Expr, Op, Tuple, TupleGetItem
from byoc_lab.relay.ir.types import TupleType, Type


@lowers("qnn.add")
def lower_add(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    lhs, rhs = _in_the_scale_of_the_result(attrs, args, types)
    total, zero = relay.add(lhs, rhs), args[7]
    if not is_number(zero, 0):  # both operands include the zero point
        total = relay.subtract(total, zero)
    return saturated(total, tensor_type(types[0]).dtype)


@lowers("qnn.subtract")
def lower_subtract(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    lhs, rhs = _in_the_scale_of_the_result(attrs, args, types)
    difference, zero = relay.subtract(lhs, rhs), args[7]
    if not is_number(zero, 0):
        difference = relay.add(difference, zero)
    return saturated(difference, tensor_type(types[0]).dtype)


def _in_the_scale_of_the_result(attrs: Any, args: list[Expr], types: list[Type]) -> list[Expr]:
    """Both operands as int32, in the scale and zero point of the result."""
    target = Quantized(args[6], args[7])
    operands = (
        (args[0], types[0], Quantized(args[2], args[3]), attrs.lhs_axis),
        (args[1], types[1], Quantized(args[4], args[5]), attrs.rhs_axis),
    )
    return [
        requantized_or_cast(x, tensor_type(ty).shape, source, target, axis, attrs.rounding)
        for x, ty, source, axis in operands
    ]


@lowers("qnn.mul")
def lower_mul(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    """Multiply the operands without their zero points; the product's scale is the product of their
    scales.

    Raises PassError for vectors of scales along different axes.
    """
    lhs, rhs, lhs_scale, lhs_zero, rhs_scale, rhs_zero, out_scale, out_zero = args
    channels = not (is_scalar_constant(lhs_scale) and is_scalar_constant(rhs_scale))
    if channels and attrs.lhs_axis != attrs.rhs_axis:
        raise PassError(
            f"qnn.mul: vectors of scales must lie along one axis, found lhs_axis="
            f"{attrs.lhs_axis} and rhs_axis={attrs.rhs_axis}"
        )
    moved = []
    sides = ((lhs, lhs_zero, types[0], attrs.lhs_axis), (rhs, rhs_zero, types[1], attrs.rhs_axis))
    for x, zero, ty, axis in sides:
        whole = relay.cast(x, "int32")
        if not is_number(zero, 0):
            if channels:
                rank = len(tensor_type(ty).shape)
                zero = relay.cast(flat_across(zero, rank, axis), "int32")
            whole = relay.subtract(whole, zero)
        moved.append(whole)
    product = relay.multiply(*moved)
    scales = [
        values(e, f"qnn.mul: {n}") for e, n in ((lhs_scale, "lhs_scale"), (rhs_scale, "rhs_scale"))
    ]
    # As in TVM: a float32 product for scalar scales; for vectors, the product is rounded to float32
    # at the end.
    exact = np.float64 if channels else np.float32
    scale = relay.const(np.multiply(*(s.astype(exact) for s in scales)), "float32")
    source, target = Quantized(scale, integer(0)), Quantized(out_scale, out_zero)
    axis = attrs.lhs_axis if channels else -1
    result = tensor_type(types[-1])
    return requantized(product, result.shape, source, target, result.dtype, axis, attrs.rounding)


@lowers("qnn.concatenate")
def lower_concatenate(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    data, scales, zeros, out_scale, out_zero = args
    target = Quantized(out_scale, out_zero)
    tuple_type = types[0]
    assert isinstance(tuple_type, TupleType)
    parts = []
    for n, ty in enumerate(tuple_type.fields):
        field, scale, zero = (_field(e, n) for e in (data, scales, zeros))
        source, tensor = Quantized(scale, zero), tensor_type(ty)
        if not source.same(target):
            field = requantized(field, tensor.shape, source, target, tensor.dtype)
        parts.append(field)
    return Call(Op.get("concatenate"), [Tuple(parts)], attrs)


def _field(expr: Expr, index: int) -> Expr:
    return expr.fields[index] if isinstance(expr, Tuple) else TupleGetItem(expr, index)
