"""Arithmetic, comparison, logic and other operators that work element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.passes.quantize.qnn_requantize import round_to_even
from byoc_lab.relay.ir.expr import Expr

UNARY = {
    "Neg": "negative", "Abs": "abs", "Floor": "floor", "Ceil": "ceil", "Sqrt": "sqrt", "Exp": "exp",
    "Log": "log", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh",
    "Atan": "atan", "Atanh": "atanh", "Cos": "cos", "Cosh": "cosh", "Sin": "sin", "Sinh": "sinh",
    "Tan": "tan", "Tanh": "tanh", "Sigmoid": "sigmoid", "Erf": "erf", "Sign": "sign",
    "IsNaN": "isnan", "Not": "logical_not", "BitwiseNot": "bitwise_not",
}  # fmt: skip
BINARY = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "Greater": "greater", "Less": "less",
    "GreaterOrEqual": "greater_equal", "LessOrEqual": "less_equal", "Equal": "equal",
    "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor", "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
}  # fmt: skip


def _unary(name: str) -> Callable[[Node], Expr]:
    build = getattr(relay, name)
    return lambda node: build(node[0])


def _binary(name: str) -> Callable[[Node], Expr]:
    build = getattr(relay, name)
    return lambda node: build(*_operands(node))


for _onnx, _relay in UNARY.items():
    converts(_onnx)(_unary(_relay))
for _onnx, _relay in BINARY.items():
    converts(_onnx)(_binary(_relay))


def _operands(node: Node) -> list[Expr]:
    """Both operands; before opset 7 the second is broadcast along `axis`."""
    x, y = node[0], node[1]
    if node.opset < 7 and node.attr("broadcast", 0):
        axis = node.attr("axis", None)
        if axis is not None:
            missing = node.rank(x) - node.axis(axis, node.rank(x)) - node.rank(y)
            y = relay.expand_dims(y, axis=-1, num_newaxis=missing) if missing > 0 else y
    return [x, y]


@converts("Div")
def div(node: Node) -> Expr:
    """Integer division rounds towards zero."""
    x, y = _operands(node)
    if "int" in node.dtype(x):
        return relay.trunc_divide(x, y) if node.dtype(x).startswith("int") else relay.divide(x, y)
    return relay.divide(x, y)


@converts("Pow")
def power(node: Node) -> Expr:
    """The exponent may have any type; the result and the arithmetic have the type of the base."""
    x, y = _operands(node)
    dtypes = node.dtype(x), node.dtype(y)
    if dtypes[0] == dtypes[1]:
        return relay.power(x, y)
    wide = dtypes[0] if "float" in dtypes[0] else dtypes[1]
    found = relay.power(relay.cast(x, wide), relay.cast(y, wide))
    return found if wide == dtypes[0] else relay.cast(found, dtypes[0])


@converts("Mod")
def mod(node: Node) -> Expr:
    return (relay.mod if node.attr("fmod", 0) else relay.floor_mod)(node[0], node[1])


@converts("Reciprocal")
def reciprocal(node: Node) -> Expr:
    return relay.const(1.0, node.dtype(node[0])) / node[0]


@converts("Round")
def round_halves_to_even(node: Node) -> Expr:
    """ONNX rounds halves to even, Relay away from zero."""
    return round_to_even(node[0], node.dtype(node[0]))


@converts("IsInf")
def is_inf(node: Node) -> Expr:
    positive, negative = node.attr("detect_positive", 1), node.attr("detect_negative", 1)
    found = relay.isinf(node[0])
    zero = relay.const(0.0, node.dtype(node[0]))
    if not negative:
        found = relay.logical_and(found, relay.greater(node[0], zero))
    if not positive:
        found = relay.logical_and(found, relay.less(node[0], zero))
    return found


@converts("BitShift")
def bit_shift(node: Node) -> Expr:
    direction = node.attr("direction")
    if direction not in ("LEFT", "RIGHT"):
        node.fail(f"direction must be LEFT or RIGHT, found {direction!r:.40}")
    return (relay.left_shift if direction == "LEFT" else relay.right_shift)(node[0], node[1])


def _folded(build: Callable[[Expr, Expr], Expr]) -> Callable[[Node], Expr]:
    return lambda node: reduce(build, node.given)


for _onnx, _build in {"Sum": relay.add, "Max": relay.maximum, "Min": relay.minimum}.items():
    converts(_onnx)(_folded(_build))


@converts("Mean")
def mean(node: Node) -> Expr:
    count = relay.const(float(len(node.inputs)), node.dtype(node[0]))
    return reduce(relay.add, node.given) / count


@converts("Where")
def where(node: Node) -> Expr:
    return relay.where(node[0], node[1], node[2])


@converts("Clip")
def clip(node: Node) -> Expr:
    """Bounds are attributes up to opset 10, inputs from opset 11 on. A nan bound does not limit, as
    in ONNX     Runtime; if the minimum exceeds the maximum, the result is the maximum."""
    x, dtype = node[0], node.dtype(node[0])
    smallest, largest = _range(dtype)
    if node.opset < 11:
        given = [node.attr("min", smallest), node.attr("max", largest)]
    else:
        given = [node.value(i) if node.optional(i) is not None else np.nan for i in (1, 2)]
    if all(bound is not None for bound in given):
        least, most = float(given[0]), float(given[1])
        most = largest if np.isnan(most) else most
        return relay.clip(x, smallest if np.isnan(least) else min(least, most), most)
    if node.optional(1) is not None:
        x = relay.maximum(x, _limit(node, 1, smallest))
    return relay.minimum(x, _limit(node, 2, largest)) if node.optional(2) is not None else x


def _limit(node: Node, at: int, unlimited: float) -> Expr:
    """A bound, possibly computed at run time; nan is replaced by `unlimited`."""
    bound, known, dtype = node[at], node.value(at), node.dtype(node[0])
    if "float" not in dtype or (known is not None and not np.isnan(known).any()):
        return bound
    return relay.where(relay.isnan(bound), relay.const(unlimited, dtype), bound)


def _range(dtype: str) -> tuple[float, float]:
    if dtype.startswith(("int", "uint")):
        return float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    return -np.inf, np.inf


@converts("Cast")
def cast(node: Node) -> Expr:
    return relay.cast(node[0], _target(node))


def _target(node: Node) -> str:
    from byoc_lab.importers.onnx.reading import dtype_of

    return dtype_of(node.attr("to"))


@converts("CastLike")
def cast_like(node: Node) -> Expr:
    return relay.cast(node[0], node.dtype(node[1]))


@converts("CumSum")
def cumsum(node: Node) -> Expr:
    """If the axis is not constant, computes the sums over each axis and selects one at run time."""
    x = node[0]
    rank = node.rank(x)
    axis = node.value(1)
    if axis is not None:
        return _cumsum(node, node.axis(int(axis.item()), rank))
    chosen = relay.reshape(relay.cast(node[1], "int64"), ())
    found = _cumsum(node, 0)
    for i in range(1, rank):
        here = relay.logical_or(
            relay.equal(chosen, relay.const(i, "int64")),
            relay.equal(chosen, relay.const(i - rank, "int64")),
        )
        found = relay.where(here, _cumsum(node, i), found)
    return found


def _cumsum(node: Node, axis: int) -> Expr:
    x = node[0]
    reverse, exclusive = node.attr("reverse", 0), node.attr("exclusive", 0)
    x = relay.reverse(x, axis) if reverse else x
    found = relay.cumsum(x, axis, node.dtype(node[0]), bool(exclusive))
    return relay.reverse(found, axis) if reverse else found


def scalar(node: Node, value: Any) -> Expr:
    """A constant of the data type of the first input."""
    return relay.const(value, node.dtype(node[0]))
