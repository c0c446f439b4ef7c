"""Quantize, dequantize and requantize in exact arithmetic, as Relay defines them.

Integers have any size here, so that the kernel's 32-bit and 64-bit arithmetic is checked against
them. Source of the definitions: apache/tvm, src/relay/qnn/op/quantize.cc, dequantize.cc and
requantize.cc (compute_dtype int64), src/relay/qnn/utils.cc.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tests.backends.dnnl.kernels.draws import INTEGERS, Case, Draw
from tests.backends.dnnl.reference import Bounded, exact


def parameters(d: Draw, shape: list[int], axis: int) -> tuple[Any, Any]:
    """A scale and a zero point, each a number or a vector along `axis`."""
    sizes = [[shape[axis]] if shape and d.flag() else [] for _ in range(2)]
    scale = np.float32(2.0 ** d.rng.uniform(-10, 3, sizes[0]))
    return scale, d.rng.integers(-200, 200, sizes[1]).astype(np.int32)


def data(d: Draw) -> tuple[np.ndarray, int]:
    shape = d.shape()
    return d.array(*shape), d.int(-len(shape), len(shape) - 1) if shape else -1


def quantize_cases(d: Draw) -> Case:
    array, axis = data(d)
    if d.flag():  # halves show how a kernel rounds
        array = np.asarray(np.round(array * 4) / 2, np.float32)
    scale, zero = parameters(d, list(array.shape), axis)
    if d.flag():
        scale = np.float32(0.5)
    return Case([array, scale, zero], {"axis": axis, "dtype": d.one_of(*INTEGERS)})


def dequantize_cases(d: Draw) -> Case:
    array, axis = data(d)
    if d.dtype == "int32":
        array = np.asarray(array // 128)  # so that the difference from the zero point has 32 bits
    return Case([array, *parameters(d, list(array.shape), axis)], {"axis": axis})


def requantize_cases(d: Draw) -> Case:
    array, axis = data(d)
    if d.dtype == "int32":
        array = np.asarray(array // 2 ** d.int(14, 24))  # so that products have 64 bits
    into = parameters(d, [], axis)
    args = [array, *parameters(d, list(array.shape), axis), *into]
    if array.ndim and d.flag():
        args.append(d.rng.integers(-40000, 40000, array.shape[axis]).astype(np.int32))
    rounding = d.one_of("UPWARD", "TONEAREST", "TOEVEN")
    return Case(args, {"axis": axis, "dtype": d.one_of(*INTEGERS), "rounding": rounding})


def along(parameter: Any, value: np.ndarray, axis: int) -> np.ndarray:
    """A number, or a vector along `axis`, broadcast to the data."""
    array = np.asarray(parameter.value)
    if array.ndim == 0:
        return np.broadcast_to(array, value.shape)
    shape = [1] * value.ndim
    shape[axis] = -1
    return np.broadcast_to(array.reshape(shape), value.shape)


def cut(values: Any, shape: tuple[int, ...], dtype: str) -> Bounded:
    limits = np.iinfo(dtype)
    kept = [min(max(v, int(limits.min)), int(limits.max)) for v in values]
    return exact(np.asarray(kept, np.float64).reshape(shape))


def quantize(data: Bounded, scale: Any, zero_point: Any, *, axis: int, dtype: str) -> Bounded:
    # Relay rounds the quotient to float32 first.
    x = data.value.astype(np.float32)
    quotient = (x / along(scale, x, axis).astype(np.float32)).astype(np.float64)
    halves_away = np.sign(quotient) * np.floor(np.abs(quotient) + 0.5)
    values = (
        int(q + z) for q, z in zip(halves_away.flat, along(zero_point, x, axis).flat, strict=True)
    )
    return cut(values, x.shape, dtype)


def dequantize(data: Bounded, scale: Any, zero_point: Any, *, axis: int) -> Bounded:
    difference = data.value - along(zero_point, data.value, axis)
    # An integer is rounded to float32, then the product is: both roundings are needed.
    exactly = difference.astype(np.float32) * along(scale, data.value, axis).astype(np.float32)
    return exact(exactly)


def requantize(
    data: Bounded, input_scale: Any, input_zero: Any, output_scale: Any, output_zero: Any,
    bias: Any = None, *, axis: int, dtype: str, rounding: str,
) -> Bounded:  # fmt: skip
    x = data.value if bias is None else data.value + along(bias, data.value, axis)
    scales, zeros = along(input_scale, x, axis), along(input_zero, x, axis)
    to_scale, to_zero = float(output_scale.value), int(output_zero.value)
    values = [
        rescaled(int(v - z), s / to_scale, rounding) + to_zero
        for v, s, z in zip(x.flat, scales.flat, zeros.flat, strict=True)
    ]
    return cut(values, x.shape, dtype)


def rescaled(value: int, ratio: float, rounding: str) -> int:
    """value * ratio to the nearest integer, with ratio = multiplier * 2**(shift - 31)."""
    mantissa, shift = math.frexp(ratio)
    multiplier = math.floor(mantissa * 2**31 + 0.5)  # positive halves away from zero round up
    exact_value = value * Fraction(multiplier) * Fraction(2) ** (shift - 31)
    if rounding == "TOEVEN":
        return round(exact_value)
    if rounding == "TONEAREST" and exact_value < 0:
        return -math.floor(-exact_value + Fraction(1, 2))
    return math.floor(exact_value + Fraction(1, 2))
