"""Element-wise operators of one argument: the result has the shape and dtype of the argument."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, log
from operator import attrgetter
from typing import Any

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, dtype, number
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.ir.ndarray import numpy_dtype
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import branches, layout_rules, relax_types
from byoc_lab.relay.op.framework.arrays import round_half_away
from byoc_lab.relay.op.framework.costs import no_flops, per_element
from byoc_lab.relay.op.framework.from_relax import RelaxCall, relay_call, same
from byoc_lab.relay.op.framework.from_relax import number as number_of
from byoc_lab.relay.op.framework.precision import FOLLOW, NEVER
from byoc_lab.relay.op.framework.registry import (
    OpPattern,
    define_op,
    identity,
    same_result,
)
from byoc_lab.relay.op.framework.relations import Types, tensors
from byoc_lab.relay.op.framework.relax_types import dtype_of, scalar


def define_unary(
    name: str,
    function: Callable[..., Any],
    relax: str | Callable[[Any, Any], Any],
    doc: str,
    **facts: Any,
) -> None:
    """relax: the name of the Relax operator, or a function of (R, data) that returns it applied."""

    def translated(R: Any, attrs: Any, x: Any) -> Any:
        return attrgetter(relax)(R)(x) if isinstance(relax, str) else relax(R, x)

    define_op(
        name,
        "data",
        identity,
        reference=same_result(function),
        flops=per_element(1),
        relax=translated,
        from_relax=facts.pop("from_relax", {name: same} if relax == name else {}),
        pattern=OpPattern.ELEMWISE,
        layout=layout_rules.elementwise,
        doc=doc,
        **facts,
    )


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow: the exponent is never positive."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


# NumPy has no error function. math.erf is exact to the last digit and quick enough for checking.
_erf = np.frompyfunc(erf, 1, 1)


def error_function(x: np.ndarray) -> np.ndarray:
    """The error function of each element, float64: NumPy has none."""
    return np.asarray(_erf(x), np.float64)


define_unary("abs", np.abs, "abs", "out = |data|.", branches=branches.by_sign, exact=True)
define_unary("exp", np.exp, "exp", "out = e to the power of data.", mixed_precision=NEVER)
define_unary("log", np.log, "log", "out = natural logarithm of data.")
define_unary("sqrt", np.sqrt, "sqrt", "out = square root of data.", mixed_precision=FOLLOW)
define_unary("rsqrt", lambda x: 1 / np.sqrt(x), "rsqrt", "out = 1 / square root of data.")
define_unary("negative", np.negative, "negative", "out = -data.", exact=True)
define_unary(
    "tanh",
    np.tanh,
    "tanh",
    "out = hyperbolic tangent of data.",
    mixed_precision=FOLLOW,
    branches=branches.by_flatness,
)
define_unary(
    "sigmoid",
    sigmoid,
    "sigmoid",
    "out = 1 / (1 + exp(-data)).",
    mixed_precision=FOLLOW,
    branches=branches.by_flatness,
)
define_unary("erf", error_function, "erf", "out = error function of data.", mixed_precision=NEVER)
define_unary("floor", np.floor, "floor", "out = data rounded down.", exact=True)
define_unary("ceil", np.ceil, "ceil", "out = data rounded up.", exact=True)
define_unary(
    "round",
    round_half_away,
    relax_types.round_half_away,
    "out = data rounded to the nearest integer, halves away from zero.",
    from_relax={"round": same},
    exact=True,
)
define_unary("sin", np.sin, "sin", "out = sine of data, in radians.")
define_unary("cos", np.cos, "cos", "out = cosine of data, in radians.")
define_unary(
    "sign",
    np.sign,
    "sign",
    "out = -1, 0 or 1, the sign of data.",
    branches=branches.by_sign,
    exact=True,
)
define_unary("logical_not", np.logical_not, "logical_not", "out = not data.")
define_unary("tan", np.tan, "tan", "out = tangent of data, in radians.")
define_unary("asin", np.arcsin, "asin", "out = arc sine of data, in radians.")
define_unary("acos", np.arccos, "acos", "out = arc cosine of data, in radians.")
define_unary("atan", np.arctan, "atan", "out = arc tangent of data, in radians.")
define_unary("sinh", np.sinh, "sinh", "out = hyperbolic sine of data.")
define_unary("cosh", np.cosh, "cosh", "out = hyperbolic cosine of data.")
define_unary("asinh", np.arcsinh, "asinh", "out = inverse hyperbolic sine of data.")
define_unary("acosh", np.arccosh, "acosh", "out = inverse hyperbolic cosine of data.")
define_unary("atanh", np.arctanh, "atanh", "out = inverse hyperbolic tangent of data.")
define_unary("trunc", np.trunc, "trunc", "out = data rounded towards zero.", exact=True)
define_unary("bitwise_not", np.invert, "bitwise_not", "out = data with every bit inverted.")
define_unary(
    "nn.relu",
    lambda x: np.maximum(x, 0),
    "nn.relu",
    "out = max(data, 0).",
    mixed_precision=FOLLOW,
    branches=branches.by_sign,
    exact=True,
)


def _logarithm(base: float) -> Callable[[Any, Any], Any]:
    """The Relax expression of a logarithm to `base`."""
    return lambda R, x: R.divide(R.log(x), scalar(log(base), dtype_of(x)))


define_unary("log2", np.log2, _logarithm(2), "out = logarithm of data to base 2.")
define_unary("log10", np.log10, _logarithm(10), "out = logarithm of data to base 10.")


def _predicate(name: str, function: Callable[..., Any], doc: str) -> None:
    def relation(attrs: Any, data: Type | None) -> Types:
        """The shape of data, bool."""
        (x,) = tensors(name, "data", data)
        return x, None if x is None else TensorType(x.shape, "bool")

    define_op(
        name,
        "data",
        relation,
        reference=lambda attrs, x: function(x),
        flops=per_element(1),
        relax=lambda R, attrs, x: getattr(R, name)(x),
        from_relax={name: same},
        pattern=OpPattern.ELEMWISE,
        layout=layout_rules.elementwise,
        branches=branches.by_truth,
        doc=doc,
    )


_predicate("isnan", np.isnan, "out = whether data is NaN.")
_predicate("isinf", np.isinf, "out = whether data is infinite.")
_predicate("isfinite", np.isfinite, "out = whether data is neither infinite nor NaN.")


def cast_relation(attrs: Any, data: Type | None) -> Types:
    """The shape of data, the dtype of the attribute."""
    (x,) = tensors("cast", "data", data)
    return x, None if x is None else TensorType(x.shape, attrs.dtype)


CAST_ATTRS = AttrsType("relay.attrs.CastAttrs", (Attr("dtype", dtype, doc="dtype of the result"),))

define_op(
    "cast",
    "data",
    cast_relation,
    attrs=CAST_ATTRS,
    reference=lambda attrs, x: x.astype(numpy_dtype(attrs.dtype)),
    flops=per_element(1),
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


def _clip_from_relax(op: Op, call: RelaxCall, x: Expr, low: Any, high: Any) -> Expr:
    return relay_call(op.name, x, float(number_of(low)), float(number_of(high)))


define_op(
    "clip",
    "a",
    identity,
    attrs=AttrsType(
        "relay.attrs.ClipAttrs",
        (Attr("a_min", number, doc="minimum"), Attr("a_max", number, doc="maximum")),
    ),
    reference=lambda attrs, x: np.clip(x, attrs.a_min, attrs.a_max).astype(x.dtype, copy=False),
    flops=per_element(2),
    # TVM's own gives a_min where a_min > a_max; this gives a_max, as NumPy and ONNX do.
    relax=lambda R, attrs, x: R.clip(x, min(attrs.a_min, attrs.a_max), attrs.a_max),
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="out = min(max(a, a_min), a_max).",
    branches=branches.by_limits,
    mixed_precision=_clip_precision,
    from_relax={"clip": _clip_from_relax},
    exact=False,
)

define_op(
    "nn.leaky_relu",
    "data",
    identity,
    attrs=AttrsType(
        "relay.attrs.LeakyReluAttrs", (Attr("alpha", number, 0.25, "slope below zero"),)
    ),
    # The builder's default differs from that of the record, as in TVM.
    defaults={"alpha": 0.01},
    reference=lambda attrs, x: np.where(x > 0, x, x * x.dtype.type(attrs.alpha)),
    flops=per_element(2),
    relax=lambda R, attrs, x: R.nn.leakyrelu(x, attrs.alpha),
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="out = data where data > 0, alpha * data elsewhere.",
    mixed_precision=FOLLOW,
    branches=branches.by_sign,
    from_relax={"nn.leakyrelu": same},
)

define_op(
    "copy",
    "data",
    identity,
    reference=lambda attrs, x: x,
    flops=no_flops,
    relax=lambda R, attrs, x: x,
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="out = data.",
    mixed_precision=FOLLOW,
    exact=True,
)


def cast_like_relation(attrs: Any, data: Type | None, dtype_like: Type | None) -> Types:
    """The shape of data, the dtype of dtype_like."""
    x, like = tensors("cast_like", "data dtype_like", data, dtype_like)
    return x, like, None if x is None or like is None else TensorType(x.shape, like.dtype)


define_op(
    "cast_like",
    "data dtype_like",
    cast_like_relation,
    reference=lambda attrs, x, like: x.astype(like.dtype),
    flops=per_element(1),
    relax=lambda R, attrs, x, like: R.astype(x, dtype_of(like)),
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="out = data, converted to the dtype of another tensor.",
    mixed_precision=FOLLOW,
)
