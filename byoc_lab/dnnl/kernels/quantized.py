"""Quantized numbers, real = scale * (integer - zero point); see native/src/ops/quantized.cc.

Bit for bit what Relay's operators of the same names give: `requantize` is integer arithmetic.
Scales (float32) and zero points (int32) are numbers, or vectors along `axis`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab.dnnl.kernels.running import run


def quantize(
    data: Any, scale: Any, zero_point: Any, *, axis: int = -1, dtype: str = "int8", out: Any = None
) -> Any:
    """data / scale, rounded (halves away from zero), + zero_point, within the range of `dtype`.

    data: float32. dtype: uint8, int8 or int32.
    """
    tensors = {"data": data, "scale": _scale(scale), "zero_point": _zero(zero_point)}
    return run("quantize", "quantize", tensors, {"axis": axis}, out, dtype=dtype)


def dequantize(data: Any, scale: Any, zero_point: Any, *, axis: int = -1, out: Any = None) -> Any:
    """scale * (data - zero_point) in float32; data uint8, int8 or int32."""
    tensors = {"data": data, "scale": _scale(scale), "zero_point": _zero(zero_point)}
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
    """data + bias, integers of one scale and zero point, as integers of another.

    rounding: of halves, "UPWARD" or "TONEAREST" (away from zero). output_scale and
    output_zero_point are single numbers.
    """
    tensors = {
        "data": data,
        "input_scale": _scale(input_scale),
        "input_zero_point": _zero(input_zero_point),
        "output_scale": _scale(output_scale),
        "output_zero_point": _zero(output_zero_point),
        "bias": bias,
    }
    attrs = {"axis": axis, "rounding": rounding}
    return run("requantize", "requantize", tensors, attrs, out, dtype=dtype)


def _scale(value: Any) -> Any:
    return np.asarray(value, np.float32)


def _zero(value: Any) -> Any:
    return np.asarray(value, np.int32)
