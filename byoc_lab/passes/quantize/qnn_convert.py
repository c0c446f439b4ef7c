"""Lowering of qnn.quantize, qnn.dequantize and functions of one quantized tensor.

Functions such as qnn.tanh are computed with real numbers here; `qnn_tables.py` converts them to
tables.

Source: src/relay/qnn/op/quantize.cc, dequantize.cc, op_common.h, leaky_relu.cc, softmax.cc and
avg_pool2d.cc of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.passes.quantize.qnn_requantize import (
    Quantized,
    fixed,
    requantized,
    requantized_or_cast,
    round_to_even,
)
from byoc_lab.passes.quantize.qnn_values import (
    across,
    from_start,
    integer,
    is_scalar_constant,
    lowers,
    saturated,
    tensor_type,
    values,
)
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.qnn.requantize_config import TOEVEN
from byoc_lab.relay.op.qnn.unary import TABLES


@lowers("qnn.quantize")
def lower_quantize(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    data, scale, zero = args
    by, offset = _laid(attrs.axis, [scale, zero], types)
    return _quantized(data, by, offset, attrs.out_dtype, attrs.rounding == TOEVEN)


def _quantized(data: Expr, scale: Expr, zero: Expr, dtype: str, even: bool = False) -> Expr:
    ratio = relay.divide(data, scale)
    whole = round_to_even(ratio, "float32") if even else relay.round(ratio)
    return saturated(relay.add(whole, relay.cast(zero, "float32")), dtype)


@lowers("qnn.dequantize")
def lower_dequantize(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    data, scale, zero = args
    by, offset = _laid(attrs.axis, [scale, zero], types)
    real = _dequantized(data, by, offset)
    if attrs.out_dtype == "float32":
        return real
    largest = float(np.finfo(attrs.out_dtype).max)
    return relay.cast(relay.clip(real, -largest, largest), attrs.out_dtype)


def _dequantized(data: Expr, scale: Expr, zero: Expr) -> Expr:
    moved = relay.subtract(relay.cast(data, "int32"), zero)
    return relay.multiply(relay.cast(moved, "float32"), scale)


def _laid(axis: int, vectors: list[Expr], types: list[Type]) -> list[Expr]:
    """A scale and a zero point, broadcast along `axis` of the data if they are vectors."""
    rank = len(tensor_type(types[0]).shape)
    laid = []
    for vector, ty in zip(vectors, types[1:3], strict=True):
        scalar = is_scalar_constant(vector) or not tensor_type(ty).shape
        laid.append(vector if scalar else across(vector, rank, from_start(axis, rank)))
    return laid


# Functions of real numbers -----------------------------------------------------------------------


def _hardswish(x: Expr) -> Expr:
    shifted = relay.clip(relay.add(x, relay.const(3.0, "float32")), 0.0, 6.0)
    return relay.divide(relay.multiply(x, shifted), relay.const(6.0, "float32"))


def _by_reals(name: str, function: Callable[[Expr], Expr]) -> None:
    @lowers(f"qnn.{name}")
    def lower(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
        data, scale, zero, out_scale, out_zero = args
        real = function(_dequantized(data, scale, zero))
        return _quantized(real, out_scale, out_zero, tensor_type(types[0]).dtype)


for _name in TABLES:
    _by_reals(_name, _hardswish if _name == "hardswish" else getattr(relay, _name))

# In integers -------------------------------------------------------------------------------------


@lowers("qnn.leaky_relu")
def lower_leaky_relu(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    """In the result's scale: below the zero point alpha * x + (1 - alpha) * zero point."""
    x, scale, zero, out_scale, out_zero = args
    x, zero, out_zero = (relay.cast(e, "int32") for e in (x, zero, out_zero))
    ty = tensor_type(types[0])
    pairs = Quantized(scale, zero), Quantized(out_scale, out_zero)
    moved = requantized_or_cast(x, ty.shape, *pairs)
    low = relay.add(fixed(moved, attrs.alpha), fixed(out_zero, 1 - attrs.alpha))
    return saturated(relay.where(relay.less(x, zero), low, moved), ty.dtype)


# As in the NumPy reference of the operator (relay/op/qnn/unary.py).
FRACTION, RESULT_BITS, MAX_QUOTIENT = 30, 7, 20


@lowers("qnn.softmax")
def lower_softmax(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    """exp as a power of 2 with a linear approximation of the fraction, all in int32
    (arXiv:2207.01405)."""
    x, scale, zero, out_scale, out_zero = args
    shape = tensor_type(types[0]).shape
    if 0 in shape:
        return relay.zeros(shape, "int8")
    over: dict[str, Any] = {"axis": (attrs.axis,), "keepdims": True}
    moved = relay.subtract(relay.cast(x, "int32"), zero)
    moved = relay.subtract(moved, relay.max(moved, **over))
    unit = np.round(np.float32(1) / values(scale, "qnn.softmax: scale"))
    one = saturated(relay.const(unit, "float32"), "int32")
    up = relay.add(moved, relay.right_shift(moved, integer(1)))
    # Approximates a multiplication by log2(e)
    moved = relay.subtract(up, relay.right_shift(moved, integer(4)))
    quotient = relay.divide(moved, relay.negative(one))
    quotient = relay.clip(quotient, 0.0, float(MAX_QUOTIENT))
    rest = relay.subtract(moved, relay.multiply(quotient, relay.negative(one)))
    power = relay.add(relay.right_shift(rest, integer(1)), one)
    power = relay.left_shift(power, relay.subtract(relay.max(quotient, **over), quotient))
    share = relay.divide(integer(1 << FRACTION), relay.sum(power, **over))
    product = relay.multiply(share, power)
    out = relay.right_shift(product, integer(FRACTION - RESULT_BITS))
    source = Quantized(relay.const(1 / (1 << RESULT_BITS), "float32"), integer(0))
    target = Quantized(out_scale, out_zero)
    return requantized(out, shape, source, target, "int8")


@lowers("qnn.avg_pool2d")
def lower_avg_pool2d(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    x, scale, zero, out_scale, out_zero = args
    pairs = Quantized(scale, zero), Quantized(out_scale, out_zero)
    moved = requantized_or_cast(x, tensor_type(types[0]).shape, *pairs)
    pooled = Call(Op.get("nn.avg_pool2d"), [moved], attrs)
    result = types[-1]
    assert isinstance(result, TensorType)
    return saturated(pooled, result.dtype)
