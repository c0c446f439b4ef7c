"""Lowering of qnn.requantize: the same real numbers with another scale and zero point.

In integers (compute_dtype int64): a fixed-point product: one operator if halves are rounded up,
else int64 shifts and products. In floating point (float32, float64): a product, rounded with casts,
as TVM does for targets without SSE 4.1.

Source: src/relay/qnn/op/requantize.cc and src/relay/qnn/utils.cc of TVM 0.16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.quantize.qnn_values import (
    across,
    flat_across,
    from_start,
    integer,
    is_number,
    lowers,
    same_scalar,
    saturated,
    tensor_type,
    values,
)
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.op.qnn.math import FRACTION_BITS, fixed_point
from byoc_lab.relay.op.qnn.requantize_config import COMPUTE_DTYPES, TOEVEN, UPWARD, settled

Shape = tuple[Any, ...]


@dataclass(frozen=True)
class Quantized:
    """A scale and a zero point."""

    scale: Expr
    zero: Expr

    def same(self, other: Quantized) -> bool:
        """Whether scale and zero point are known to equal those of `other`."""
        return same_scalar(self.scale, other.scale) and same_scalar(self.zero, other.zero)


@lowers("qnn.requantize")
def lower_requantize(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    data, scale, zero, out_scale, out_zero = args
    return requantized(
        data,
        tensor_type(types[0]).shape,
        Quantized(scale, zero),
        Quantized(out_scale, out_zero),
        attrs.out_dtype,
        attrs.axis,
        attrs.rounding,
        attrs.compute_dtype,
    )


def requantized(
    data: Expr,
    shape: Shape,
    source: Quantized,
    target: Quantized,
    dtype: str,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
) -> Expr:
    """Integers of shape `shape` requantized from `source` (its vectors lie along `axis`) to
    `target`. Raises PassError for scales that are not constants, and for an unknown compute_dtype.
    """
    rounding, compute_dtype = settled(rounding, compute_dtype)
    if compute_dtype not in COMPUTE_DTYPES:
        known = ", ".join(COMPUTE_DTYPES)
        raise PassError(
            f"qnn.requantize: compute_dtype must be one of {known}, found {compute_dtype!r}"
        )
    out_scale = values(target.scale, "qnn.requantize: output_scale").reshape(())
    if out_scale == 0:
        raise PassError("qnn.requantize: output_scale must not be 0")
    in_scale = values(source.scale, "qnn.requantize: input_scale")
    ratio = in_scale.astype("float64") / out_scale.astype("float64")
    same = not ratio.ndim and same_scalar(source.scale, target.scale)
    working = "int32" if compute_dtype == "int64" else compute_dtype
    moved = relay.cast(data, working)
    if not is_number(source.zero, 0):
        zero = flat_across(source.zero, len(shape), axis)
        moved = relay.subtract(moved, relay.cast(zero, working))
    if not same and working != "int32":
        moved = _multiplied_real(moved, ratio, len(shape), axis, working)
    elif not same and rounding == UPWARD:
        moved = _multiplied(moved, ratio, len(shape), axis)
    elif not same:
        moved = _multiplied_to_nearest(moved, ratio, shape, axis, rounding == TOEVEN)
    if working != "int32" and rounding == TOEVEN:
        moved = round_to_even(moved, working)
    if not is_number(target.zero, 0):
        offset = relay.cast(target.zero, working)
        moved = relay.add(offset, moved) if working == "int32" else relay.add(moved, offset)
    if working != "int32":
        if rounding != TOEVEN:
            moved = (_upward if rounding == UPWARD else _to_nearest)(moved, working)
        moved = relay.cast(moved, "int32")
    return moved if dtype == "int32" else saturated(moved, dtype)


def requantized_or_cast(
    data: Expr,
    shape: Shape,
    source: Quantized,
    target: Quantized,
    axis: int = -1,
    rounding: str = "None",
) -> Expr:
    """`data` as int32 in the scale and zero point of `target`."""
    if source.same(target):
        return relay.cast(data, "int32")
    return requantized(data, shape, source, target, "int32", axis, rounding)


# Integers ----------------------------------------------------------------------------------------


def fixed(data: Expr, factor: float) -> Expr:
    """int32 `data` times a number, rounding halves up."""
    multiplier, shift = fixed_point(np.float64(factor))
    return relay.fixed_point_multiply(data, multiplier=int(multiplier), shift=int(shift))


def _multiplied(data: Expr, ratio: np.ndarray, rank: int, axis: int) -> Expr:
    """int32 `data` times `ratio` (one number, or one per index along `axis`), rounding halves
    up."""
    if not ratio.ndim:
        return fixed(data, float(ratio))
    multiplier, shift = fixed_point(ratio)
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    return relay.fixed_point_multiply_per_axis(
        data,
        *(relay.const(part.astype("int32")) for part in (multiplier, left, right)),
        is_lshift_required=bool(left.any()),
        is_rshift_required=bool(right.any()),
        axes=(rank - 1 if axis == -1 else axis,),
    )


def _multiplied_to_nearest(
    data: Expr, ratio: np.ndarray, shape: Shape, axis: int, even: bool
) -> Expr:
    """The product in int64 arithmetic, rounding halves away from zero or to even."""
    rank = len(shape)

    def wide(numbers: np.ndarray) -> Expr:
        constant = relay.const(numbers.astype("int64"), "int64")
        return across(constant, rank, from_start(axis, rank)) if ratio.ndim else constant

    def everywhere(numbers: np.ndarray) -> Expr:
        if ratio.ndim:
            return relay.broadcast_to(wide(numbers), shape=shape)
        return relay.full(wide(numbers), shape=shape, dtype="int64")

    multiplier, shift = fixed_point(ratio)
    left, down = np.maximum(shift, 0), FRACTION_BITS + np.maximum(-shift, 0)
    half = np.left_shift(np.int64(1), down - 1)
    product = relay.cast(data, "int64")
    if left.any():
        product = relay.left_shift(product, wide(left))
    product = relay.multiply(product, wide(multiplier))
    if even:
        rounded = relay.right_shift(relay.add(product, wide(half)), wide(down))
        fraction = relay.bitwise_and(product, wide(2 * half - 1))
        tied = relay.cast(relay.equal(fraction, wide(half)), "int64")
        odd = relay.bitwise_and(rounded, integer(1, "int64"))
        return relay.cast(relay.subtract(rounded, relay.multiply(tied, odd)), "int32")
    above = relay.greater_equal(product, relay.zeros(shape=shape, dtype="int64"))
    rounder = relay.where(above, everywhere(half), everywhere(half - 1))
    rounded = relay.right_shift(relay.add(product, rounder), wide(down))
    return relay.cast(rounded, "int32")


# Floating point ----------------------------------------------------------------------------------


def _multiplied_real(data: Expr, ratio: np.ndarray, rank: int, axis: int, dtype: str) -> Expr:
    factor = relay.const(ratio, dtype)
    if not ratio.ndim:
        return relay.multiply(factor, data)
    return relay.multiply(data, across(factor, rank, from_start(axis, rank)))


def _upward(data: Expr, dtype: str) -> Expr:
    """`data` rounded to integers, halves up."""
    moved = relay.add(data, relay.const(0.5, dtype))
    whole = relay.cast(relay.cast(moved, _integers(dtype)), dtype)
    exact = relay.equal(moved, whole)
    not_cut = relay.logical_or(exact, relay.greater_equal(moved, relay.const(0.0, dtype)))
    rounded = relay.where(not_cut, whole, relay.subtract(whole, relay.const(1.0, dtype)))
    return relay.where(relay.isfinite(data), rounded, data)


def _to_nearest(data: Expr, dtype: str) -> Expr:
    """`data` rounded to integers, halves away from zero."""
    one = relay.const(1.0, dtype)
    negative = relay.less(data, relay.const(0.0, dtype))
    sign = relay.where(negative, relay.const(-1.0, dtype), one)
    moved = relay.add(data, relay.multiply(relay.const(0.5, dtype), sign))
    whole = relay.cast(relay.multiply(moved, sign), _integers(dtype))
    rounded = relay.multiply(relay.cast(whole, dtype), sign)
    return relay.where(relay.isfinite(data), rounded, data)


def round_to_even(data: Expr, dtype: str) -> Expr:
    """`data` rounded to integers, halves to even."""
    one = relay.const(1.0, dtype)
    down = relay.floor(data)
    rest = relay.subtract(data, down)
    half = relay.const(0.5, dtype)
    odd = relay.equal(relay.floor_mod(down, relay.const(2.0, dtype)), one)
    tied = relay.logical_and(relay.equal(rest, half), odd)
    up = relay.logical_or(relay.greater(rest, half), tied)
    rounded = relay.where(up, relay.add(down, one), down)
    return relay.where(relay.isfinite(data), rounded, data)


def _integers(dtype: str) -> str:
    """The integer dtype with the width of a floating-point dtype."""
    return dtype.replace("float", "int")
