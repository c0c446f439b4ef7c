"""Element-wise operators of one argument: the result has the shape and dtype of the argument."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, isnan, log, nan
from operator import attrgetter
from typing import Any

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, dtype, number
from byoc_lab.relay.ir.ndarray import numpy_dtype
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules, relax_types
from byoc_lab.relay.op.framework.arrays import round_half_away
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import number as number_of
from byoc_lab.relay.op.framework.from_relax import relay_call, same
from byoc_lab.relay.op.framework.precision import FOLLOW, NEVER
from byoc_lab.relay.op.framework.registry import (
    Arithmetic,
    OpPattern,
    define_op,
    identity,
    same_result,
)
from byoc_lab.relay.op.framework.relax_types import dtype_of, scalar


def define_unary(
    name: str,
    function: Callable[..., Any],
    doc: str,
    relax: str | Callable[[Any, Any], Any] = "",
    **facts: Any,
) -> None:
    """Define an element-wise operator. relax: the name of the Relax operator, if not `name`, or a
    function (R, data) -> Relax expression."""

    def translated(R: Any, attrs: Any, x: Any) -> Any:
        return relax(R, x) if callable(relax) else attrgetter(relax or name)(R)(x)

    define_op(
        name,
        "data",
        identity,
        reference=same_result(function),
        relax=translated,
        from_relax=facts.pop("from_relax", {} if relax else {name: same}),
        pattern=OpPattern.ELEMWISE,
        layout=layout_rules.elementwise,
        doc=doc,
        **facts,
    )


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow: the exponent is never positive."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


# NumPy lacks the error function. math.erf is exact to the last digit and fast enough for checks.
_erf = np.frompyfunc(erf, 1, 1)


def error_function(x: np.ndarray) -> np.ndarray:
    """The error function of each element, float64: NumPy has none."""
    return np.asarray(_erf(x), np.float64)


define_unary(
    "abs", np.abs, "out = |data|.", arithmetic=Arithmetic.ABS, fake_quantized=FakeQuantized.FUNCTION
)
define_unary(
    "exp",
    np.exp,
    "out = e to the power of data.",
    arithmetic=Arithmetic.EXP,
    mixed_precision=NEVER,
    fake_quantized=FakeQuantized.FUNCTION,
)
define_unary(
    "log",
    np.log,
    "out = natural logarithm of data.",
    arithmetic=Arithmetic.LOG,
    fake_quantized=FakeQuantized.FUNCTION,
)
define_unary(
    "sqrt",
    np.sqrt,
    "out = square root of data.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.FUNCTION,
    arithmetic=Arithmetic.SQRT,
)
define_unary(
    "rsqrt",
    lambda x: 1 / np.sqrt(x),
    "out = 1 / square root of data.",
    arithmetic=Arithmetic.RSQRT,
    fake_quantized=FakeQuantized.FUNCTION,
)
define_unary("negative", np.negative, "out = -data.", arithmetic=Arithmetic.EXACT)
define_unary(
    "tanh",
    np.tanh,
    "out = hyperbolic tangent of data.",
    arithmetic=Arithmetic.TANH,
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.FUNCTION,
)
define_unary(
    "sigmoid",
    sigmoid,
    "out = 1 / (1 + exp(-data)).",
    arithmetic=Arithmetic.SIGMOID,
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.FUNCTION,
)
define_unary(
    "erf",
    error_function,
    "out = error function of data.",
    arithmetic=Arithmetic.ERF,
    mixed_precision=NEVER,
    fake_quantized=FakeQuantized.FUNCTION,
)
define_unary("floor", np.floor, "out = data rounded down.", arithmetic=Arithmetic.FLOOR)
define_unary("ceil", np.ceil, "out = data rounded up.", arithmetic=Arithmetic.FLOOR)
define_unary(
    "round",
    round_half_away,
    "out = data rounded to the nearest integer, halves away from zero.",
    relax=relax_types.round_half_away,
    from_relax={"round": same},
    arithmetic=Arithmetic.ROUND,
)
define_unary("sin", np.sin, "out = sine of data, in radians.")
define_unary("cos", np.cos, "out = cosine of data, in radians.")
define_unary("sign", np.sign, "out = -1, 0 or 1, the sign of data.", arithmetic=Arithmetic.SIGN)
define_unary(
    "logical_not",
    np.logical_not,
    "out = not data.",
    relax=lambda R, x: relax_types.logical(R, "logical_not", x),
    from_relax={"logical_not": same},
)
define_unary("tan", np.tan, "out = tangent of data, in radians.")
define_unary("asin", np.arcsin, "out = arc sine of data, in radians.")
define_unary("acos", np.arccos, "out = arc cosine of data, in radians.")
define_unary("atan", np.arctan, "out = arc tangent of data, in radians.")
define_unary("sinh", np.sinh, "out = hyperbolic sine of data.")
define_unary("cosh", np.cosh, "out = hyperbolic cosine of data.")
define_unary("asinh", np.arcsinh, "out = inverse hyperbolic sine of data.")
define_unary("acosh", np.arccosh, "out = inverse hyperbolic cosine of data.")
define_unary("atanh", np.arctanh, "out = inverse hyperbolic tangent of data.")
define_unary("trunc", np.trunc, "out = data rounded towards zero.", arithmetic=Arithmetic.FLOOR)
define_unary("bitwise_not", np.invert, "out = data with every bit inverted.")
define_unary(
    "nn.relu",
    lambda x: np.maximum(x, 0),
    "out = max(data, 0).",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.RELU,
    qat=True,
    arithmetic=Arithmetic.RELU,
)


def _logarithm(base: float) -> Callable[[Any, Any], Any]:
    """The Relax expression of a logarithm to `base`."""
    return lambda R, x: R.divide(R.log(x), scalar(log(base), dtype_of(x)))


define_unary("log2", np.log2, "out = logarithm of data to base 2.", relax=_logarithm(2))
define_unary("log10", np.log10, "out = logarithm of data to base 10.", relax=_logarithm(10))


def _predicate(name: str, function: Callable[..., Any], doc: str) -> None:
    def result_type(attrs: Any, x: TensorType) -> Type:
        """The shape of data, bool."""
        return TensorType(x.shape, "bool")

    define_op(
        name,
        "data",
        result_type=result_type,
        reference=lambda attrs, x: function(x),
        relax=lambda R, attrs, x: getattr(R, name)(x),
        from_relax={name: same},
        pattern=OpPattern.ELEMWISE,
        layout=layout_rules.elementwise,
        arithmetic=Arithmetic.COMPARISON,
        doc=doc,
    )


_predicate("isnan", np.isnan, "out = whether data is NaN.")
_predicate("isinf", np.isinf, "out = whether data is infinite.")
_predicate("isfinite", np.isfinite, "out = whether data is neither infinite nor NaN.")


def cast_type(attrs: Any, x: TensorType) -> Type:
    """The shape of data, the dtype of the attribute."""
    return TensorType(x.shape, attrs.dtype)


CAST_ATTRS = AttrsType("relay.attrs.CastAttrs", (Attr("dtype", dtype, doc="dtype of the result"),))

define_op(
    "cast",
    "data",
    result_type=cast_type,
    arithmetic=Arithmetic.CAST,
    attrs=CAST_ATTRS,
    reference=lambda attrs, x: x.astype(numpy_dtype(attrs.dtype)),
    relax=lambda R, attrs, x: R.astype(x, attrs.dtype),
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="out = data, converted to another dtype.",
    mixed_precision=FOLLOW,
    from_relax={"astype": same},
)


FLOAT16_MAX = 65504.0


def _clip_precision(call: Any, dtype: str) -> list[int | str]:
    """Limits beyond the range of float16 are kept in float32."""
    limits = (call.attrs.a_min, call.attrs.a_max)
    beyond = dtype == "float16" and max(map(abs, limits)) > FLOAT16_MAX
    category = NEVER if beyond else FOLLOW
    return category.conversion(call, dtype)


def _clip_limits(attrs: Any, dtype: str) -> tuple[float, float]:
    """a_min and a_max; for integer data, as integers in the range of the dtype."""
    low, high = attrs.a_min, attrs.a_max
    if "int" not in dtype:
        return low, high
    limits = np.iinfo(dtype)
    low, high = (int(min(max(limit, limits.min), limits.max)) for limit in (low, high))
    return low, high


def _clip_relax(R: Any, attrs: Any, x: Any) -> Any:
    """Clip for Relax. If a_min > a_max the result is a_max, as in NumPy and ONNX (TVM's clip
    returns a_min). A nan limit makes each element nan, as in NumPy."""
    low, high = _clip_limits(attrs, dtype_of(x))
    if isnan(low) or isnan(high):
        return R.clip(x, nan, nan)
    return R.clip(x, min(low, high), high)


define_op(
    "clip",
    "a",
    identity,
    attrs=AttrsType(
        "relay.attrs.ClipAttrs",
        (Attr("a_min", number, doc="minimum"), Attr("a_max", number, doc="maximum")),
    ),
    reference=lambda attrs, x: np.clip(x, *_clip_limits(attrs, x.dtype.name)).astype(
        x.dtype, copy=False
    ),
    flops=per_element(2),
    relax=_clip_relax,
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="out = min(max(a, a_min), a_max).",
    arithmetic=Arithmetic.CLIP,
    mixed_precision=_clip_precision,
    fake_quantized=FakeQuantized.CLIP,
    qat=True,
    from_relax={
        "clip": lambda op, call, x, low, high: relay_call(
            op.name, x, float(number_of(low)), float(number_of(high))
        )
    },
)

define_op(
    "nn.leaky_relu",
    "data",
    identity,
    attrs=AttrsType(
        "relay.attrs.LeakyReluAttrs", (Attr("alpha", number, 0.25, "slope below zero"),)
    ),
    # As in TVM, the builder's default differs from the attribute's default.
    defaults={"alpha": 0.01},
    reference=lambda attrs, x: np.where(x > 0, x, x * x.dtype.type(attrs.alpha)),
    flops=per_element(2),
    relax=lambda R, attrs, x: R.nn.leakyrelu(x, attrs.alpha),
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="out = data where data > 0, alpha * data elsewhere.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.LEAKY_RELU,
    arithmetic=Arithmetic.LEAKY_RELU,
    from_relax={"nn.leakyrelu": same},
)

define_op(
    "copy",
    "data",
    identity,
    reference=lambda attrs, x: x,
    relax=lambda R, attrs, x: x,
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="out = data.",
    mixed_precision=FOLLOW,
    arithmetic=Arithmetic.COPY,
)


def cast_like_type(attrs: Any, x: TensorType, like: TensorType) -> Type:
    """The shape of data, the dtype of dtype_like."""
    return TensorType(x.shape, like.dtype)


define_op(
    "cast_like",
    "data dtype_like",
    result_type=cast_like_type,
    arithmetic=Arithmetic.CAST,
    reference=lambda attrs, x, like: x.astype(like.dtype),
    in_relax=("cast",),
    relax=lambda R, attrs, x, like: R.astype(x, dtype_of(like)),
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="out = data, converted to the dtype of another tensor.",
    mixed_precision=FOLLOW,
)
