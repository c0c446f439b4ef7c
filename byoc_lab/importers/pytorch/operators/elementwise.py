"""Arithmetic, comparison, logic and other operators that work element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node, dtype_name
from byoc_lab.passes.quantize.qnn_requantize import round_to_even
from byoc_lab.relay.ir.expr import Constant, Expr

UNARY = {
    "neg": "negative", "abs": "abs", "floor": "floor", "ceil": "ceil", "sqrt": "sqrt",
    "rsqrt": "rsqrt", "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "acos": "acos",
    "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "cos": "cos", "cosh": "cosh", "sin": "sin", "sinh": "sinh", "tan": "tan", "tanh": "tanh",
    "sigmoid": "sigmoid", "erf": "erf", "trunc": "trunc",
}  # fmt: skip
ARITHMETIC = {
    "mul": "multiply", "maximum": "maximum", "minimum": "minimum", "floor_divide": "floor_divide",
    "remainder": "floor_mod", "fmod": "mod",
}  # fmt: skip
COMPARISON = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal",
}  # fmt: skip
LOGIC = {"logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor"}
BITS = {"bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor"}


@converts(*(f"{name}.default" for name in UNARY))
def unary(node: Node) -> Any:
    """The result for integers is floating-point, except for operators that keep integers."""
    x = node.tensor("self", node.result_dtype)
    return getattr(relay, UNARY[node.overload])(x)


@converts("sign.default")
def sign(node: Node) -> Any:
    """The sign; 0 for nan, where Relay's operator gives nan."""
    x, dtype = node["self"], node.result_dtype
    found = relay.sign(x)
    return (
        relay.where(relay.isnan(x), Constant(_scalar(0, dtype)), found)
        if "float" in dtype
        else found
    )


def _both(node: Node, dtype: str) -> tuple[Expr, Expr]:
    return node.tensor("self", dtype), node.tensor("other", dtype)


@converts(*(f"{n}.{o}" for n in ARITHMETIC for o in ("Tensor", "Scalar", "default")))
def arithmetic(node: Node) -> Any:
    x, y = _both(node, node.result_dtype)
    if node.result_dtype == "bool":
        return relay.logical_and(x, y)
    return getattr(relay, ARITHMETIC[node.overload])(x, y)


@converts("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "rsub.Scalar", "rsub.Tensor")
def sum_or_difference(node: Node) -> Any:
    """self + alpha * other; rsub swaps the operands."""
    dtype = node.result_dtype
    x, y = _both(node, dtype)
    alpha = node["alpha"]
    if node.overload == "rsub":
        x, y = y, x if alpha == 1 else x * Constant(_scalar(alpha, dtype))
    elif alpha != 1:
        y = y * Constant(_scalar(alpha, dtype))
    return (relay.add if node.overload == "add" else relay.subtract)(x, y)


def _scalar(value: Any, dtype: str) -> Any:
    return np.asarray(value, dtype)


@converts("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode")
def div(node: Node) -> Any:
    x, y = _both(node, node.result_dtype)
    mode = node["rounding_mode"] if node.name.endswith("_mode") else None
    integer = "int" in node.result_dtype
    if mode is None:
        return relay.divide(x, y)
    if mode == "floor":
        return relay.floor_divide(x, y)
    return relay.trunc_divide(x, y) if integer else relay.trunc(relay.divide(x, y))


def _promoted(node: Node) -> str:
    """The common data type of the operands of a comparison."""
    import torch

    values = [getattr(node.raw(n), "meta", {}).get("val", node.raw(n)) for n in ("self", "other")]
    return dtype_name(torch.result_type(*values))


@converts(*(f"{name}.{o}" for name in COMPARISON for o in ("Tensor", "Scalar")))
def comparison(node: Node) -> Any:
    x, y = _both(node, _promoted(node))
    return getattr(relay, COMPARISON[node.overload])(x, y)


@converts(*(f"{name}.default" for name in LOGIC))
def logic(node: Node) -> Any:
    return getattr(relay, LOGIC[node.overload])(*_both(node, "bool"))


@converts(*(f"{name}.{o}" for name in BITS for o in ("Tensor", "Scalar")))
def bits(node: Node) -> Any:
    name = BITS[node.overload]
    if node.result_dtype == "bool":
        name = name.replace("bitwise", "logical")
    return getattr(relay, name)(*_both(node, node.result_dtype))


@converts("logical_not.default")
def logical_not(node: Node) -> Any:
    return relay.logical_not(node.tensor("self", "bool"))


@converts("bitwise_not.default")
def bitwise_not(node: Node) -> Any:
    build = relay.logical_not if node.dtype() == "bool" else relay.bitwise_not
    return build(node["self"])


@converts("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def power(node: Node) -> Any:
    """The exponent 2 becomes a product."""
    exponent, dtype = node.raw("exponent"), node.result_dtype
    x = node.tensor("self", dtype)
    if isinstance(exponent, (int, float)) and exponent == 2:
        return x * x
    return relay.power(x, node.tensor("exponent", dtype))


@converts("reciprocal.default")
def reciprocal(node: Node) -> Any:
    return Constant(_scalar(1, node.result_dtype)) / node.tensor("self", node.result_dtype)


@converts("expm1.default", "log1p.default")
def around_one(node: Node) -> Any:
    x, one = node.tensor("self", node.result_dtype), Constant(_scalar(1, node.result_dtype))
    return relay.exp(x) - one if node.overload == "expm1" else relay.log(x + one)


@converts("square.default")
def square(node: Node) -> Any:
    return node["self"] * node["self"]


@converts("isnan.default")
def isnan(node: Node) -> Any:
    return relay.isnan(node["self"])


@converts("isinf.default")
def isinf(node: Node) -> Any:
    return relay.isinf(node["self"])


@converts("clamp.default", "clamp_min.default", "clamp_max.default")
def clamp(node: Node) -> Any:
    low = None if node.overload == "clamp_max" else node["min"]
    high = None if node.overload == "clamp_min" else node["max"]
    dtype = node.result_dtype
    least, most = (-np.inf, np.inf)
    if "int" in dtype:
        least, most = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    low, high = (least if low is None else low), (most if high is None else high)
    # If the minimum exceeds the maximum, the result is the maximum.
    return relay.clip(node.tensor("self", dtype), min(float(low), float(high)), float(high))


@converts("clamp.Tensor")
def clamp_tensor(node: Node) -> Any:
    found = node.tensor("self", node.result_dtype)
    if node["min"] is not None:
        found = relay.maximum(found, node.tensor("min", node.result_dtype))
    return (
        found
        if node["max"] is None
        else relay.minimum(found, node.tensor("max", node.result_dtype))
    )


@converts("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(node: Node) -> Any:
    dtype = node.result_dtype
    return relay.where(node["condition"], node.tensor("self", dtype), node.tensor("other", dtype))


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(node: Node) -> Any:
    dtype = node.result_dtype
    return relay.where(node["mask"], node.tensor("value", dtype), node["self"])


@converts("_to_copy.default", "to.dtype", "to.device", "to.other", "to.dtype_layout")
def to_dtype(node: Node) -> Any:
    if node.dtype() == node.result_dtype:
        return node["self"]
    return relay.cast(node["self"], node.result_dtype)


@converts(
    "clone.default", "contiguous.default", "alias.default", "detach.default", "detach_.default",
    "dropout.default", "lift_fresh_copy.default", "feature_dropout.default",
)  # fmt: skip
def unchanged(node: Node) -> Any:
    """Imports an operator that returns its data unchanged, such as dropout in inference."""
    if node.overload.endswith("dropout"):
        if node["train"] and node["p"] > 0:
            node.fail("dropout in training mode draws random numbers; call module.eval()")
        return node["input"]
    return node["self"]


@converts("cumsum.default")
def cumsum(node: Node) -> Any:
    return relay.cumsum(node.tensor("self", node.result_dtype), node.axis(), node.result_dtype)


@converts("round.default", "round.decimals")
def round_halves_to_even(node: Node) -> Any:
    """PyTorch rounds halves to even, Relay away from zero."""
    x, dtype = node["self"], node.dtype()
    if "int" in dtype:
        return x
    decimals = int(node["decimals"]) if node.name.endswith(".decimals") else 0
    if not decimals:
        return round_to_even(x, dtype)
    power = Constant(_scalar(10.0 ** abs(decimals), dtype))
    return (
        round_to_even(x * power, dtype) / power
        if decimals > 0
        else round_to_even(x / power, dtype) * power
    )


def _magnitudes(x: Expr, y: Expr, dtype: str) -> tuple[Expr, Expr]:
    """The greater magnitude of two operands, and the ratio of the smaller one to it, at most 1."""
    zero, one = (Constant(_scalar(v, dtype)) for v in (0, 1))
    low, high = relay.minimum(relay.abs(x), relay.abs(y)), relay.maximum(relay.abs(x), relay.abs(y))
    ratio = relay.where(relay.equal(high, low), one, low / high)
    return high, relay.where(relay.equal(high, zero), zero, ratio)


def _nan_as(x: Expr, y: Expr, found: Expr, dtype: str) -> Expr:
    """`found`, but nan if an operand is nan: maxima may drop nan in a build."""
    nan = relay.logical_or(relay.isnan(x), relay.isnan(y))
    return relay.where(nan, Constant(_scalar(np.nan, dtype)), found)


@converts("hypot.default")
def hypot(node: Node) -> Any:
    """Avoids squares that overflow; infinite if an operand is infinite, even if the other one is
    nan."""
    dtype = node.result_dtype
    x, y = _both(node, dtype)
    high, ratio = _magnitudes(x, y, dtype)
    found = _nan_as(x, y, high * relay.sqrt(ratio * ratio + Constant(_scalar(1, dtype))), dtype)
    infinite = relay.logical_or(relay.isinf(x), relay.isinf(y))
    return relay.where(infinite, Constant(_scalar(np.inf, dtype)), found)


@converts("atan2.default")
def atan2(node: Node) -> Any:
    """The angle of a ratio of at most 1, reflected at the diagonal and at both axes."""
    dtype = node.result_dtype
    y, x = _both(node, dtype)
    zero, half, whole = (Constant(_scalar(v, dtype)) for v in (0, np.pi / 2, np.pi))

    def negative(value: Expr) -> Expr:
        """Whether x is negative; the reciprocal detects -0."""
        reciprocal = Constant(_scalar(1, dtype)) / value
        return relay.less(relay.where(relay.equal(value, zero), reciprocal, value), zero)

    angle = relay.atan(_magnitudes(x, y, dtype)[1])
    angle = relay.where(relay.greater(relay.abs(y), relay.abs(x)), half - angle, angle)
    angle = relay.where(negative(x), whole - angle, angle)
    return _nan_as(x, y, relay.where(negative(y), -angle, angle), dtype)
