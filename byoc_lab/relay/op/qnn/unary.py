"""Functions of one quantized 8-bit tensor: qnn.tanh and other tables, leaky_relu, softmax,
avg_pool2d.

A table holds the quantized result for every 8-bit number. The other functions compute in integers.

Source: src/relay/qnn/op/unary_elementwise_op.h, leaky_relu.cc, softmax.cc and avg_pool2d.cc of TVM
0.16, qnn/op/canonicalizations.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.attrs import REQUIRED, attrs_type
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.registry import OpDef, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import Types, axis_of, relation_of, tensors
from byoc_lab.relay.op.framework.relax_types import dtype_of
from byoc_lab.relay.op.qnn.convert import dequantize_reference, quantize_reference
from byoc_lab.relay.op.qnn.math import (
    TONEAREST,
    check_dtype,
    check_scalar,
    constants,
    relax_constant,
    relax_requantized,
    relax_saturated,
    requantized,
    saturated,
)
from byoc_lab.relay.op.tensor.elementwise import error_function

NARROW = ("int8", "uint8")
NAMES = "scale zero_point output_scale output_zero_point"


def checked_operands(op: str, names: str, kinds: tuple[str, ...], *types: Type | None) -> AnyValue:
    """The argument types as tensor types: the first must have a dtype in `kinds`, the others must
    be scalar scales and zero points."""
    operands = tensors(op, names, *types)
    words = names.split()
    for name, ty in zip(words[1:], operands[1:], strict=True):
        check_scalar(op, name, ty, "int32" if name.endswith("zero_point") else "float32")
    if operands[0] is not None:
        check_dtype(op, words[0], operands[0].dtype, *kinds)
    return operands


def same_type(op: str, names: str, kinds: tuple[str, ...]) -> Callable[..., Types]:
    def relation(attrs: AnyValue, *types: Type | None) -> Types:
        """x has a dtype in `kinds`; scales are float32 and zero points int32, scalars; the result
        has the type of x."""
        operands = checked_operands(op, names, kinds, *types)
        return *operands, operands[0]

    return relation


# Tables ------------------------------------------------------------------------------------------


class _Axis:
    """Attributes for calling the references of qnn.quantize and qnn.dequantize."""

    axis = -1
    rounding = TONEAREST

    def __init__(self, out_dtype: str):
        self.out_dtype = out_dtype


TABLES: list[str] = []
"""The qnn operators of one tensor that are computed by table look-up; a dict by the name of the
function."""


def _table(name: str, function: Callable[[np.ndarray], np.ndarray], doc: str) -> None:
    op, names = f"qnn.{name}", f"x {NAMES}"

    def reference(attrs: AnyValue, x: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        scale, zero, out_scale, out_zero = rest
        real = dequantize_reference(_Axis("float32"), x, scale, zero)
        with np.errstate(all="ignore"):
            value = np.nan_to_num(function(real), posinf=np.finfo(np.float32).max)
        return quantize_reference(_Axis(x.dtype.name), value, out_scale, out_zero)

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue, *rest: AnyValue) -> AnyValue:
        numbers = constants(op, NAMES, *rest)
        limits = np.iinfo(dtype_of(x))
        every = np.arange(limits.min, limits.max + 1).astype(limits.dtype)
        table = relax_constant(reference(attrs, every, *numbers), limits.dtype.name)
        first = relax_constant(limits.min, "int32")
        return R.take(table, R.subtract(R.astype(x, "int32"), first), 0)

    define_op(
        op,
        names,
        same_type(op, names, NARROW),
        reference=reference,
        flops=per_element(5),
        relax=relax,
        # Only qnn.tanh has a fusion pattern in TVM.
        pattern=OpPattern.ELEMWISE if name == "tanh" else OpPattern.OPAQUE,
        doc=doc,
    )
    TABLES.append(name)


_table("tanh", np.tanh, "The hyperbolic tangent of a quantized tensor.")
_table("exp", np.exp, "e to the power of a quantized tensor.")
_table("sqrt", np.sqrt, "The square root of a quantized tensor.")
_table("rsqrt", lambda x: 1 / np.sqrt(x), "1 / the square root of a quantized tensor.")
_table("erf", error_function, "The error function of a quantized tensor.")
_table("sigmoid", lambda x: 1 / (1 + np.exp(-x)), "1 / (1 + exp(-x)) of a quantized tensor.")
_table("log", np.log, "The natural logarithm of a quantized tensor.")
_table("abs", np.abs, "The absolute value of a quantized tensor.")
_table(
    "hardswish",
    lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "x * clip(x + 3, 0, 6) / 6 of a quantized tensor.",
)

# qnn.leaky_relu ----------------------------------------------------------------------------------

LEAKY = "qnn.leaky_relu"
INPUTS = "x input_scale input_zero_point output_scale output_zero_point"
PARAMETERS = INPUTS.removeprefix("x ")


def leaky_reference(attrs: AnyValue, x: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    """Below the zero point alpha * x + (1 - alpha) * zero point, each product rounded."""
    scale, zero, out_scale, out_zero = rest
    moved = requantized(x, (scale, out_scale), (zero, out_zero), "int32").astype(np.int64)
    part = requantized(moved, (attrs.alpha, 1), (0, 0), "int32").astype(np.int64)
    rest_part = requantized(np.asarray(out_zero), (1 - attrs.alpha, 1), (0, 0), "int32")
    return saturated(np.where(x < zero, part + rest_part, moved), x.dtype.name)


def _leaky_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, *rest: AnyValue) -> AnyValue:
    scale, zero, out_scale, out_zero = constants(LEAKY, PARAMETERS, *rest)
    moved = relax_requantized(R, LEAKY, x, (scale, out_scale), (zero, out_zero), "int32")
    pair, none = (np.float64(attrs.alpha), np.float64(1)), (np.int32(0), np.int32(0))
    part = relax_requantized(R, LEAKY, moved, pair, none, "int32", rank=0)
    rest_part = requantized(out_zero, (1 - attrs.alpha, 1), (0, 0), "int32").reshape(())
    low = R.add(R.astype(part, "int64"), relax_constant(rest_part, "int64"))
    below = R.less(R.astype(x, "int32"), relax_constant(zero.reshape(()), "int32"))
    return relax_saturated(R, R.where(below, low, R.astype(moved, "int64")), dtype_of(x))


define_op(
    LEAKY,
    INPUTS,
    same_type(LEAKY, INPUTS, NARROW),
    reference=leaky_reference,
    attrs=attrs_type("relay.attrs.LeakyReluAttrs"),
    flops=per_element(12),
    relax=_leaky_relax,
    pattern=OpPattern.OPAQUE,
    parameters=f"x alpha {PARAMETERS}",
    defaults={"alpha": REQUIRED},
    doc="nn.leaky_relu of a quantized tensor.",
)

# qnn.softmax -------------------------------------------------------------------------------------

SOFTMAX = "qnn.softmax"
FRACTION, RESULT_BITS, MAX_QUOTIENT = 30, 7, 20


def softmax_relation(attrs: AnyValue, *types: Type | None) -> Types:
    """x int8, scales float32 and zero points int32, scalars; the result has the type of x."""
    operands = checked_operands(SOFTMAX, f"x {NAMES}", ("int8",), *types)
    if operands[0] is not None:
        axis_of(SOFTMAX, attrs.axis, len(operands[0].shape))
    return *operands, operands[0]


def softmax_reference(attrs: AnyValue, x: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    """exp as a power of 2 with a linear approximation of the fraction, in int32
    (arXiv:2207.01405)."""
    scale, zero, out_scale, out_zero = (r.reshape(()) for r in rest)
    unit = np.round(1 / scale).astype(np.int32)
    moved = x.astype(np.int32) - zero
    moved = moved - moved.max(axis=attrs.axis, keepdims=True)
    moved = moved + (moved >> 1) - (moved >> 4)  # approximates a multiplication by log2(e)
    quotient = np.clip(-moved // unit, 0, MAX_QUOTIENT)
    fraction = moved + quotient * unit
    powers = ((fraction >> 1) + unit) << (quotient.max(axis=attrs.axis, keepdims=True) - quotient)
    sums = powers.sum(axis=attrs.axis, keepdims=True, dtype=np.int32)
    out = ((1 << FRACTION) // sums * powers) >> (FRACTION - RESULT_BITS)
    ratio = np.float32(1 / (1 << RESULT_BITS)), out_scale
    return requantized(out, ratio, (0, out_zero), "int8")


def _softmax_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, *rest: AnyValue) -> AnyValue:
    numbers = constants(SOFTMAX, NAMES, *rest)
    scale, zero, out_scale, out_zero = (n.reshape(()) for n in numbers)

    def whole(value: AnyValue) -> AnyValue:
        return relax_constant(value, "int32")

    unit = whole(np.round(1 / scale))
    moved = R.subtract(R.astype(x, "int32"), whole(zero))
    moved = R.subtract(moved, R.max(moved, axis=attrs.axis, keepdims=True))
    up, down = R.right_shift(moved, whole(1)), R.right_shift(moved, whole(4))
    moved = R.subtract(R.add(moved, up), down)
    quotient = R.floor_divide(R.negative(moved), unit)
    quotient = R.minimum(R.maximum(quotient, whole(0)), whole(MAX_QUOTIENT))
    fraction = R.add(moved, R.multiply(quotient, unit))
    left = R.subtract(R.max(quotient, axis=attrs.axis, keepdims=True), quotient)
    powers = R.left_shift(R.add(R.right_shift(fraction, whole(1)), unit), left)
    sums = R.sum(powers, axis=attrs.axis, keepdims=True)
    share = R.floor_divide(whole(1 << FRACTION), sums)
    out = R.right_shift(R.multiply(share, powers), whole(FRACTION - RESULT_BITS))
    ratio = np.float32(1 / (1 << RESULT_BITS)), out_scale
    none = np.int32(0)
    return relax_requantized(R, SOFTMAX, out, ratio, (none, out_zero), "int8", rank=0)


define_op(
    SOFTMAX,
    f"x {NAMES}",
    softmax_relation,
    reference=softmax_reference,
    attrs=attrs_type("relay.attrs.SoftmaxAttrs"),
    flops=per_element(20),
    relax=_softmax_relax,
    pattern=OpPattern.OPAQUE,
    parameters=f"x {NAMES} axis",
    doc="nn.softmax of a quantized tensor, in integer arithmetic.",
)

# qnn.avg_pool2d ----------------------------------------------------------------------------------

POOL = "qnn.avg_pool2d"
POOL_INPUTS = "data input_scale input_zero_point output_scale output_zero_point"
PLAIN: OpDef = Op.get("nn.avg_pool2d").definition


def pool_relation(attrs: AnyValue, *types: Type | None) -> Types:
    """As for nn.avg_pool2d, with int8 or uint8 data; scales float32 and zero points int32,
    scalars."""
    operands = checked_operands(POOL, POOL_INPUTS, NARROW, *types)
    _, result = relation_of(POOL, PLAIN, attrs, operands[0])
    return *operands, result


def pool_reference(attrs: AnyValue, x: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    scale, zero, out_scale, out_zero = rest
    moved = requantized(x, (scale, out_scale), (zero, out_zero), "int32")
    assert PLAIN.reference is not None
    return saturated(PLAIN.reference(attrs, moved), x.dtype.name)


def _pool_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, *rest: AnyValue) -> AnyValue:
    scale, zero, out_scale, out_zero = constants(POOL, PARAMETERS, *rest)
    if attrs.out_layout not in ("", attrs.layout):
        raise BuildError(f"{POOL}: Relax has no out_layout, found {attrs.out_layout}")
    moved = relax_requantized(R, POOL, x, (scale, out_scale), (zero, out_zero), "int32")
    assert PLAIN.relax is not None
    return relax_saturated(R, R.astype(PLAIN.relax(R, attrs, moved), "int64"), dtype_of(x))


define_op(
    POOL,
    POOL_INPUTS,
    pool_relation,
    reference=pool_reference,
    attrs=attrs_type("relay.attrs.AvgPool2DAttrs"),
    flops=lambda attrs, args, result: PLAIN.flops(attrs, args[:1], result) if PLAIN.flops else 0,
    relax=_pool_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    layout=layout_rules.quantized(layout_rules.pooling, data=1),
    non_computational=False,
    parameters=f"{POOL_INPUTS} pool_size strides padding dilation ceil_mode count_include_pad "
    "layout out_layout",
    defaults={
        **dict.fromkeys(("pool_size", "strides", "padding", "dilation"), REQUIRED),
        "count_include_pad": True,
        "layout": "NHWC",
    },
    doc="nn.avg_pool2d of a quantized tensor, requantized first.",
)
