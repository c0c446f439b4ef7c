"""Arithmetic of quantized numbers: real value = scale * (integer - zero point).

Requantization uses integer arithmetic (unless compute_dtype is a float), so that every machine
gives the same bits.

Source: src/relay/qnn/op/requantize.cc and qnn/utils.cc of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.dims import Dim
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.framework.arrays import broadcast_along
from byoc_lab.relay.op.framework.relations import axis_of, differ, fail
from byoc_lab.relay.op.framework.relax_types import constant_array, rank_of
from byoc_lab.relay.op.qnn.requantize_config import ROUNDINGS as CONFIG_ROUNDINGS
from byoc_lab.relay.op.qnn.requantize_config import TOEVEN, TONEAREST, settled
from byoc_lab.relay.op.tensor.bits import FRACTION_BITS

ROUNDINGS = ("None", *CONFIG_ROUNDINGS, TOEVEN)


def check_vector(op: str, name: str, ty: TensorType | None, dtype: str, length: Dim) -> None:
    """Raise TypeInferenceError unless `ty` is a scalar of `dtype`, or a vector of `length` or 1."""
    if ty is None:
        return
    if ty.dtype != dtype:
        fail(op, f"{name} must be of {dtype}, found {ty}")
    if len(ty.shape) > 1 or (ty.shape and ty.shape[0] != 1 and differ(ty.shape[0], length)):
        fail(op, f"{name} must be a scalar or a vector of {length}, found {ty}")


def check_scalar(op: str, name: str, ty: TensorType | None, dtype: str) -> None:
    """Raise TypeInferenceError unless `ty` is a scalar of `dtype`."""
    if ty is not None and (ty.dtype != dtype or ty.shape not in ((), (1,))):
        fail(op, f"{name} must be a scalar of {dtype}, found {ty}")


def check_dtype(op: str, name: str, found: str, *supported: str) -> None:
    """Raise TypeInferenceError for a dtype that the operator does not support."""
    if found not in supported:
        fail(op, f"{name} must be of {', '.join(supported)}, found {found}")


def channels_of(op: str, ty: TensorType, axis: int) -> Dim:
    """The number of channels for scales per channel; 1 when data is a scalar."""
    return ty.shape[axis_of(op, axis, len(ty.shape))] if ty.shape else 1


def broadcast_scales(vector: AnyValue, axis: int, rank: int) -> np.ndarray:
    """A vector broadcast along `axis` of `rank` dimensions; one number as a scalar."""
    array = np.asarray(vector)
    return broadcast_along(array, axis, rank) if array.size > 1 else array.reshape(())


def fixed_point(ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`ratio` as multiplier * 2**(shift - 31), multiplier an integer in [2**30, 2**31).

    For example 0.75 -> (0.75 * 2**31, 0). The multiplier is rounded to the nearest integer, halves
    up.
    """
    fraction, shift = np.frexp(ratio.astype(np.float64))
    multiplier = np.floor(fraction * (1 << FRACTION_BITS) + 0.5).astype(np.int64)
    overflow = multiplier == 1 << FRACTION_BITS
    return np.where(overflow, multiplier >> 1, multiplier), (shift + overflow).astype(np.int64)


def requantized(
    x: np.ndarray,
    scales: Sequence[AnyValue],
    zero_points: Sequence[AnyValue],
    dtype: str,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
) -> np.ndarray:
    """Integers `x` converted from scales[0] and zero_points[0] to scales[1] and zero_points[1].

    Vectors are broadcast along `axis`. Halves are rounded up with UPWARD, away from zero with
    TONEAREST, to even with TOEVEN. With a float compute_dtype, product and rounding are computed in
    floating point; with TOEVEN the product is rounded before the zero point is added, as in ONNX
    Runtime, else after. "None" uses the current `requantize_config`. The result is saturated to the
    range of `dtype`.
    """
    rounding, compute_dtype = settled(rounding, compute_dtype)
    if compute_dtype != "int64":
        return _requantized_real(x, scales, zero_points, dtype, axis, rounding, compute_dtype)
    rank = x.ndim
    ratio = np.asarray(scales[0], np.float64) / np.asarray(scales[1], np.float64)
    moved = x.astype(np.int64) - broadcast_scales(zero_points[0], axis, rank).astype(np.int64)
    if not (ratio == 1).all():
        multiplier, shift = (broadcast_scales(part, axis, rank) for part in fixed_point(ratio))
        wide = (moved << np.maximum(shift, 0)) * multiplier
        down = FRACTION_BITS - np.minimum(shift, 0)
        half = np.left_shift(1, down - 1)
        up = np.where(wide >= 0, half, half - 1) if rounding == TONEAREST else half
        moved = (wide + up) >> down
        if rounding == TOEVEN:
            tied = (wide & (2 * half - 1)) == half
            moved = moved - (tied & (moved & 1 == 1))
    return saturated(moved + np.asarray(zero_points[1], np.int64).reshape(()), dtype)


def _requantized_real(
    x: np.ndarray,
    scales: Sequence[AnyValue],
    zero_points: Sequence[AnyValue],
    dtype: str,
    axis: int,
    rounding: str,
    compute_dtype: str,
) -> np.ndarray:
    ratio = np.asarray(scales[0], np.float64) / np.asarray(scales[1], np.float64)
    moved = x.astype(compute_dtype) - broadcast_scales(zero_points[0], axis, x.ndim).astype(
        compute_dtype
    )
    moved = moved * broadcast_scales(ratio.astype(compute_dtype), axis, x.ndim)
    zero = np.asarray(zero_points[1], compute_dtype).reshape(())
    if rounding == TOEVEN:
        return saturated(np.rint(moved) + zero, dtype)
    moved = moved + zero
    half = np.asarray(0.5, compute_dtype)
    if rounding == TONEAREST:
        moved = np.copysign(np.floor(np.abs(moved) + half), moved)
    else:
        moved = np.floor(moved + half)
    return saturated(moved, dtype)


def saturated(x: np.ndarray, dtype: str) -> np.ndarray:
    """`x` saturated to the range of an integer dtype. Raises ValueError for any other dtype."""
    limits = np.iinfo(dtype)
    return np.clip(x, limits.min, limits.max).astype(dtype)


# Translation to Relax, for constant scales -------------------------------------------------------


def relax_constant(array: AnyValue, dtype: str) -> AnyValue:
    from tvm import relax

    return relax.const(np.asarray(array, dtype), dtype)


def relax_saturated(R: AnyValue, x: AnyValue, dtype: str) -> AnyValue:
    """`saturated` for an int64 Relax expression. Raises BuildError unless `dtype` is an integer."""
    if "int" not in dtype:
        raise BuildError(f"a quantized result must be of an integer dtype, found {dtype}")
    limits = np.iinfo(dtype)
    cut = R.maximum(x, relax_constant(limits.min, "int64"))
    return R.astype(R.minimum(cut, relax_constant(limits.max, "int64")), dtype)


def relax_requantized(
    R: AnyValue,
    op: str,
    x: AnyValue,
    scales: Sequence[np.ndarray],
    zero_points: Sequence[np.ndarray],
    dtype: str,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
    rank: int | None = None,
) -> AnyValue:
    """`requantized` as a Relax expression. `rank`: the rank of `x`, if `x` has no type yet.

    Raises BuildError for a product that may overflow, and for a float compute_dtype.
    """
    rounding, compute_dtype = settled(rounding, compute_dtype)
    if compute_dtype != "int64":
        raise BuildError(
            f"{op}: Relax gets only compute_dtype int64, found {compute_dtype}; run "
            f"relay.qnn.transform.CanonicalizeOps() first"
        )
    rank = rank_of(x) if rank is None else rank
    ratio = np.asarray(scales[0], np.float64) / np.asarray(scales[1], np.float64)

    def constant(array: AnyValue) -> AnyValue:
        return relax_constant(broadcast_scales(array, axis, rank), "int64")

    moved = R.subtract(R.astype(x, "int64"), constant(zero_points[0]))
    if not (ratio == 1).all():
        multiplier, shift = fixed_point(ratio)
        if shift.max(initial=0) > FRACTION_BITS:
            raise BuildError(f"{op}: a ratio of scales of {ratio.max()} does not fit int64")
        wide = R.left_shift(moved, constant(np.maximum(shift, 0)))
        wide = R.multiply(wide, constant(multiplier))
        down = FRACTION_BITS - np.minimum(shift, 0)
        half, one = constant(np.left_shift(1, down - 1)), relax_constant(1, "int64")
        up = half
        if rounding == TONEAREST:
            above = R.greater_equal(wide, relax_constant(0, "int64"))
            up = R.where(above, half, R.subtract(half, one))
        moved = R.right_shift(R.add(wide, up), constant(down))
        if rounding == TOEVEN:
            fraction = R.bitwise_and(wide, constant(np.left_shift(1, down) - 1))
            odd = R.bitwise_and(moved, one)
            zero = relax_constant(0, "int64")
            moved = R.subtract(moved, R.where(R.equal(fraction, half), odd, zero))
    return relax_saturated(R, R.add(moved, constant(zero_points[1])), dtype)


def constants(op: str, names: str, *values: AnyValue) -> list[np.ndarray]:
    """The arrays of Relax constants. Raises BuildError naming an argument that is not constant."""
    return [constant_array(v, op, n) for n, v in zip(names.split(), values, strict=True)]
