"""Conversion between real and quantized numbers: qnn.quantize, qnn.dequantize, qnn.requantize.

Source: `QuantizeRel`, `DequantizeRel`, `RequantizeRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, dtype, integer, string
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules, relax_types
from byoc_lab.relay.op.framework.arrays import round_half_away
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import NO_DTYPE, Types, need_one_of, tensors
from byoc_lab.relay.op.framework.relax_types import rank_of, typed
from byoc_lab.relay.op.qnn.math import (
    ROUNDINGS,
    TOEVEN,
    TONEAREST,
    broadcast_scales,
    channels_of,
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

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32")
AXIS = Attr("axis", integer, -1, "channel axis, for scales per channel")
OUT_DTYPE = Attr("out_dtype", dtype, doc="dtype of the result")


def quantize_relation(
    attrs: AnyValue, data: Type | None, scale: Type | None, zero_point: Type | None
) -> Types:
    """float32 gives integers of out_dtype; scale float32, zero point int32, scalar or per
    channel."""
    op = "qnn.quantize"
    x, s, z = tensors(op, "data output_scale output_zero_point", data, scale, zero_point)
    need_one_of(op, "rounding", attrs.rounding, (TONEAREST, TOEVEN))
    check_dtype(op, "the result", attrs.out_dtype, *INTEGERS)
    if x is None:
        return None, s, z, None
    check_dtype(op, "data", x.dtype, "float32")
    channels = channels_of(op, x, attrs.axis)
    check_vector(op, "output_scale", s, "float32", channels)
    check_vector(op, "output_zero_point", z, "int32", channels)
    return x, s, z, TensorType(x.shape, attrs.out_dtype)


def quantize_reference(
    attrs: AnyValue, x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray
) -> np.ndarray:
    limits = np.iinfo(np.int32)  # larger values saturate anyway
    with np.errstate(over="ignore"):
        quotient = x / broadcast_scales(scale, attrs.axis, x.ndim)
    rounded = np.rint if attrs.rounding == TOEVEN else round_half_away
    whole = rounded(quotient.clip(2.0 * limits.min, 2.0 * limits.max)).astype(np.int64)
    return saturated(whole + broadcast_scales(zero_point, attrs.axis, x.ndim), attrs.out_dtype)


def _quantize_relax(
    R: AnyValue, attrs: AnyValue, x: AnyValue, scale: AnyValue, zero_point: AnyValue
) -> AnyValue:
    names = "output_scale output_zero_point"
    by, zero = constants("qnn.quantize", names, scale, zero_point)
    rank = rank_of(x)
    quotient = R.divide(x, relax_constant(broadcast_scales(by, attrs.axis, rank), "float32"))
    whole = (
        R.round(quotient)  # rounds halves to even
        if attrs.rounding == TOEVEN
        else relax_types.round_half_away(R, typed(quotient))
    )
    offset = relax_constant(broadcast_scales(zero, attrs.axis, rank), "int64")
    return relax_saturated(R, R.add(R.astype(whole, "int64"), offset), attrs.out_dtype)


QUANTIZE = define_op(
    "qnn.quantize",
    "data output_scale output_zero_point",
    quantize_relation,
    reference=quantize_reference,
    attrs=AttrsType(
        "relay.attrs.QuantizeAttrs",
        (
            OUT_DTYPE,
            AXIS,
            Attr(
                "rounding",
                string,
                TONEAREST,
                beyond_tvm=True,
                doc="rounding of halves: TONEAREST (away from zero) or TOEVEN",
            ),
        ),
    ),
    parameters="data output_scale output_zero_point axis out_dtype rounding",
    defaults={"out_dtype": "int8"},
    flops=per_element(3),
    relax=_quantize_relax,
    pattern=OpPattern.ELEMWISE,
    fake_quantized=FakeQuantized.QUANTIZE,
    doc="out = round(data / scale) + zero point, saturated; halves are rounded away from zero, or "
    "to the even neighbour.",
    arithmetic=Arithmetic.QUANTIZED,
)


def dequantize_relation(
    attrs: AnyValue, data: Type | None, scale: Type | None, zero_point: Type | None
) -> Types:
    """Integers give floats of out_dtype; scale float32, zero point int32, scalar or per channel."""
    op = "qnn.dequantize"
    x, s, z = tensors(op, "data input_scale input_zero_point", data, scale, zero_point)
    check_dtype(op, "the result", attrs.out_dtype, "float32", "float16")
    if x is None:
        return None, s, z, None
    check_dtype(op, "data", x.dtype, *INTEGERS)
    channels = channels_of(op, x, attrs.axis)
    check_vector(op, "input_scale", s, "float32", channels)
    check_vector(op, "input_zero_point", z, "int32", channels)
    return x, s, z, TensorType(x.shape, attrs.out_dtype)


def dequantize_reference(
    attrs: AnyValue, x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray
) -> np.ndarray:
    whole = x.astype(np.int32) - broadcast_scales(zero_point, attrs.axis, x.ndim)
    real = whole.astype(scale.dtype) * broadcast_scales(scale, attrs.axis, x.ndim)
    # With a float64 scale the result is more exact; numerical checks compare with it.
    return real if scale.dtype == np.float64 else real.astype(attrs.out_dtype)


def _dequantize_relax(
    R: AnyValue, attrs: AnyValue, x: AnyValue, scale: AnyValue, zero_point: AnyValue
) -> AnyValue:
    names = "input_scale input_zero_point"
    by, zero = constants("qnn.dequantize", names, scale, zero_point)
    rank = rank_of(x)
    offset = relax_constant(broadcast_scales(zero, attrs.axis, rank), "int32")
    whole = R.astype(R.subtract(R.astype(x, "int32"), offset), "float32")
    real = R.multiply(whole, relax_constant(broadcast_scales(by, attrs.axis, rank), "float32"))
    return R.astype(real, attrs.out_dtype)


DEQUANTIZE = define_op(
    "qnn.dequantize",
    "data input_scale input_zero_point",
    dequantize_relation,
    arithmetic=Arithmetic.DEQUANTIZED,
    reference=dequantize_reference,
    attrs=AttrsType("relay.attrs.DequantizeAttrs", (OUT_DTYPE, AXIS)),
    parameters="data input_scale input_zero_point axis out_dtype",
    defaults={"out_dtype": "float32"},
    flops=per_element(2),
    relax=_dequantize_relax,
    pattern=OpPattern.ELEMWISE,
    fake_quantized=FakeQuantized.DEQUANTIZE,
    doc="out = (data - zero point) * scale.",
)

REQUANTIZE_NAMES = "data input_scale input_zero_point output_scale output_zero_point"


def requantize_relation(attrs: AnyValue, *types: Type | None) -> Types:
    """Integers give integers of out_dtype; scale and zero point of the input may be per channel."""
    op = "qnn.requantize"
    x, s, z, out_scale, out_zero = tensors(op, REQUANTIZE_NAMES, *types)
    need_one_of(op, "rounding", attrs.rounding, ROUNDINGS)
    check_dtype(op, "the result", attrs.out_dtype, "int8", "uint8", "int16", "int32")
    check_scalar(op, "output_scale", out_scale, "float32")
    check_scalar(op, "output_zero_point", out_zero, "int32")
    if x is None:
        return None, s, z, out_scale, out_zero, None
    check_dtype(op, "data", x.dtype, "int8", "uint8", "int16", "int32", "int64")
    channels = channels_of(op, x, attrs.axis)
    check_vector(op, "input_scale", s, "float32", channels)
    check_vector(op, "input_zero_point", z, "int32", channels)
    return x, s, z, out_scale, out_zero, TensorType(x.shape, attrs.out_dtype)


def requantize_reference(attrs: AnyValue, *args: np.ndarray) -> np.ndarray:
    x, scale, zero, out_scale, out_zero = args
    pairs = (scale, out_scale), (zero, out_zero)
    how = attrs.rounding, attrs.compute_dtype
    return requantized(x, *pairs, attrs.out_dtype, attrs.axis, *how)


def _requantize_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, *args: AnyValue) -> AnyValue:
    op = "qnn.requantize"
    names = REQUANTIZE_NAMES.partition(" ")[2]
    scale, zero, out_scale, out_zero = constants(op, names, *args)
    pairs = (scale, out_scale), (zero, out_zero)
    how = attrs.rounding, attrs.compute_dtype
    return relax_requantized(R, op, x, *pairs, attrs.out_dtype, attrs.axis, *how)


define_op(
    "qnn.requantize",
    REQUANTIZE_NAMES,
    requantize_relation,
    reference=requantize_reference,
    attrs=AttrsType(
        "relay.attrs.RequantizeAttrs",
        (
            AXIS,
            Attr(
                "rounding",
                string,
                "None",
                "rounding of halves: UPWARD, TONEAREST or TOEVEN; None: as configured",
            ),
            Attr("compute_dtype", string, "None", "int64, float32 or float64; None: as configured"),
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result"),
        ),
    ),
    defaults={"out_dtype": "int8"},
    flops=per_element(4),
    relax=_requantize_relax,
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.requantize,
    doc="The same real numbers in another scale and zero point, in integer arithmetic.",
    arithmetic=Arithmetic.REQUANTIZED,
)
