"""Operators on elements, casts and choices."""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.relax.table import RelaxCall, converts, number, relay_call
from byoc_lab.relay.ir.expr import Expr

UNARY = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_not", "ceil", "cos", "cosh",
    "erf", "exp", "floor", "isfinite", "isinf", "isnan", "log", "logical_not", "negative",
    "nn.relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    "ones_like", "zeros_like",
)  # fmt: skip
BINARY = (
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal", "floor_divide",
    "floor_mod", "greater", "greater_equal", "left_shift", "less", "less_equal", "logical_and",
    "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply", "not_equal", "power",
    "right_shift", "subtract",
)  # fmt: skip


@converts(*UNARY)
def _unary(call: RelaxCall, x: Expr) -> Expr:
    return relay_call(call.name, x)


@converts(*BINARY)
def _binary(call: RelaxCall, a: Expr, b: Expr) -> Expr:
    return relay_call(call.name, a, b)


@converts("square")
def _square(call: RelaxCall, x: Expr) -> Expr:
    return relay_call("multiply", x, x)


@converts("where")
def _where(call: RelaxCall, condition: Expr, a: Expr, b: Expr) -> Expr:
    return relay_call("where", condition, a, b)


@converts("astype")
def _astype(call: RelaxCall, x: Expr) -> Expr:
    return relay_call("cast", x, dtype=str(call.attrs.dtype))


@converts("clip")
def _clip(call: RelaxCall, x: Expr, low: Any, high: Any) -> Expr:
    return relay_call("clip", x, float(number(low)), float(number(high)))


@converts("nn.leakyrelu")
def _leaky_relu(call: RelaxCall, x: Expr) -> Expr:
    return relay_call("nn.leaky_relu", x, alpha=float(call.attrs.alpha))


@converts("nn.prelu")
def _prelu(call: RelaxCall, x: Expr, slopes: Expr) -> Expr:
    return relay_call("nn.prelu", x, slopes, axis=int(call.attrs.axis) % call.rank)


@converts("nn.silu")
def _silu(call: RelaxCall, x: Expr) -> Expr:
    return relay_call("multiply", x, relay_call("sigmoid", x))


@converts("nn.gelu")
def _gelu(call: RelaxCall, x: Expr) -> Expr:
    """x * Phi(x), as TVM's other importers write it, and as back ends find it."""
    of = partial(_scalar, call)
    error = relay_call("erf", relay_call("divide", x, of(sqrt(2.0))))
    product = relay_call("multiply", x, relay_call("add", error, of(1.0)))
    return relay_call("multiply", product, of(0.5))


@converts("nn.gelu_tanh")
def _gelu_tanh(call: RelaxCall, x: Expr) -> Expr:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), Hendrycks and Gimpel's form."""
    of = partial(_scalar, call)
    cube = relay_call("multiply", relay_call("multiply", x, x), x)
    inner = relay_call("add", x, relay_call("multiply", cube, of(0.044715)))
    bent = relay_call("tanh", relay_call("multiply", inner, of(sqrt(2.0 / np.pi))))
    half = relay_call("multiply", x, of(0.5))
    return relay_call("multiply", half, relay_call("add", bent, of(1.0)))


def _scalar(call: RelaxCall, value: float) -> Expr:
    return relay.const(value, call.dtype or "float32")
