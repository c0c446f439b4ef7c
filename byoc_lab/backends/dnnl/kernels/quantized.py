"""Quantized numbers, real = scale * (integer - zero point); see native/src/ops/quantized.cc.

Results equal those of Relay's operators of the same names bit for bit: `requantize` computes in
integers. Scales (positive, taken as float32) and zero points (integers of 32 bits) are numbers, or
vectors along `axis`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.kernels.running import run
from byoc_lab.errors import ArgumentError, InputError


def quantize(
    data: Any, scale: Any, zero_point: Any, *, axis: int = -1, dtype: str = "int8", out: Any = None
) -> Any:
    """data / scale, rounded (halves away from zero), + zero_point, within the range of `dtype`.

    data: float32. dtype: uint8, int8 or int32.
    """
    tensors = {"data": data, **_parameters("quantize", ("", scale, zero_point))}
    return run("quantize", "quantize", tensors, {"axis": axis}, out, dtype=dtype)


def dequantize(data: Any, scale: Any, zero_point: Any, *, axis: int = -1, out: Any = None) -> Any:
    """scale * (data - zero_point) in float32; data uint8, int8 or int32."""
    tensors = {"data": data, **_parameters("dequantize", ("", scale, zero_point))}
    return run("dequantize", "dequantize", tensors, {"axis": axis}, out, dtype="float32")


def requantize(
    data: Any,
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    bias: Any = None,
    *,
    axis: int = -1,
    rounding: str = "UPWARD",
    dtype: str = "int8",
    out: Any = None,
) -> Any:
    """data + bias, converted from the input scale and zero point to the output scale and zero
    point.

    rounding: how halves are rounded, "UPWARD" or "TONEAREST" (away from zero). output_scale and
    output_zero_point are single numbers.
    """
    parameters = _parameters(
        "requantize",
        ("input_", input_scale, input_zero_point),
        ("output_", output_scale, output_zero_point),
    )
    tensors = {"data": data, **parameters, "bias": bias}
    attrs = {"axis": axis, "rounding": rounding}
    return run("requantize", "requantize", tensors, attrs, out, dtype=dtype)


def _parameters(kernel: str, *given: tuple[str, Any, Any]) -> dict[str, np.ndarray]:
    """Scales and zero points (numbers, lists of numbers or tensors) as arrays, by name.

    given: triples of a name prefix, a scale and a zero point.

    Raises ArgumentError for a value of another kind, InputError for a scale that is not a positive
    number and for a zero point of more than 32 bits.
    """
    where, found = f"byoc_lab.dnnl.{kernel}", {}
    for prefix, scale, zero_point in given:
        for name, value, checked in (
            (f"{prefix}scale", scale, _scales),
            (f"{prefix}zero_point", zero_point, _zeros),
        ):
            plain = np.isscalar(value) or isinstance(value, list | tuple)
            numbers = np.asarray(value) if plain else native.as_array(where, name, value)
            found[name] = checked(f"{where}: {name}", numbers)
    return found


def _scales(where: str, numbers: np.ndarray) -> np.ndarray:
    if numbers.dtype.kind not in "iuf":
        raise ArgumentError(f"{where}: expected numbers, found {numbers.dtype}")
    with np.errstate(over="ignore"):
        scales = numbers.astype(np.float32)
    wrong = ~(np.isfinite(scales) & (scales > 0))
    if wrong.any():
        raise InputError(
            f"{where}: expected positive numbers of float32, found {numbers[wrong].flat[0]}"
        )
    return scales


def _zeros(where: str, numbers: np.ndarray) -> np.ndarray:
    if numbers.dtype.kind not in "iu":
        raise ArgumentError(f"{where}: expected integers, found {numbers.dtype}")
    zeros = numbers.astype(np.int32)
    wrong = zeros != numbers
    if wrong.any():
        raise InputError(f"{where}: expected integers of 32 bits, found {numbers[wrong].flat[0]}")
    return zeros
