"""Gradients of operators: the attribute "FPrimalGradient", which `passes.gradient` asks for.

A gradient takes a typed call and the adjoint of its result, and gives an adjoint for each
argument; that of a tuple is a list, or an expression with that tuple type. Which operators have
one is TVM's choice (`_tensor_grad.py` of TVM 0.16).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, pi, prod, sqrt
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.relay.expr import Call, Constant, Expr, Op, TupleWrapper, const
from byoc_lab.relay.op.namespace import function
from byoc_lab.relay.types import TensorType

ATTRIBUTE = "FPrimalGradient"
Gradient = Callable[[Call, Expr], Sequence[Any]]


def gradient_of(*names: str) -> Callable[[Gradient], Gradient]:
    """Mark a function as the gradient of these operators."""

    def register(made: Gradient) -> Gradient:
        for name in names:
            Op.get(name).set_attr(ATTRIBUTE, made)
        return made

    return register


def adjoints(call: Call, adjoint: Expr) -> Sequence[Any]:
    """An adjoint for each argument of a call of an operator, given that of its result.

    Raises PassError for an operator without a gradient.
    """
    rule = call.op.get_attr(ATTRIBUTE) if isinstance(call.op, Op) else None
    if rule is None:
        raise PassError(
            f"{call.op_name} has no gradient; give it one with "
            f'relay.op.get("{call.op_name}").set_attr("{ATTRIBUTE}", function), where '
            f"function(call, adjoint) gives an adjoint for each argument"
        )
    found: Sequence[Any] = rule(call, adjoint)
    if len(found) != len(call.args):
        raise PassError(
            f"the gradient of {call.op_name} must give {len(call.args)} adjoints, one for each "
            f"argument, found {len(found)}"
        )
    return found


def build(name: str, *args: Any, **attrs: Any) -> Any:
    """`relay.<name>(...)`."""
    return function(name)(*args, **attrs)


def shape_of(expr: Expr) -> tuple[int, ...]:
    """The known shape of a typed tensor. Raises PassError."""
    ty = expr.checked_type
    if not isinstance(ty, TensorType) or not ty.is_static:
        raise PassError(f"the gradient needs a tensor of known shape, found {ty}")
    return ty.concrete_shape


def number(value: float, like: Expr) -> Constant:
    return const(value, like.checked_type.dtype)


def zeros(*exprs: Expr) -> list[Expr]:
    return [build("zeros_like", e) for e in exprs]


def summed(grad: Expr, like: Expr) -> Expr:
    """The adjoint of what was broadcast: summed back to its shape."""
    return build("collapse_sum_like", grad, like)


# One argument, element by element: (x, y = f(x), adjoint of y) -> adjoint of x ------------------

_SQUARE = {"asin": (1.0, -1.0), "acos": (1.0, -1.0), "acosh": (-1.0, 1.0), "asinh": (1.0, 1.0)}


def _inverse(name: str) -> Callable[[Expr, Expr, Expr], Expr]:
    """1 / sqrt(a + b x^2), which all of these have in common."""
    a, b = _SQUARE[name]

    def rule(x: Expr, y: Expr, g: Expr) -> Expr:
        under: Expr = build("sqrt", number(a, x) + number(b, x) * x * x)
        return build("negative", g / under) if name == "acos" else g / under

    return rule


ELEMENTWISE: dict[str, Callable[[Expr, Expr, Expr], Any]] = {
    "log": lambda x, y, g: g / x,
    "log2": lambda x, y, g: g / (x * number(log(2), x)),
    "log10": lambda x, y, g: g / (x * number(log(10), x)),
    "exp": lambda x, y, g: g * y,
    "sqrt": lambda x, y, g: g * number(0.5, x) / y,
    "sigmoid": lambda x, y, g: g * y * (number(1.0, x) - y),
    "tanh": lambda x, y, g: g * (number(1.0, x) - y * y),
    "sin": lambda x, y, g: g * build("cos", x),
    "cos": lambda x, y, g: build("negative", g * build("sin", x)),
    "tan": lambda x, y, g: g * (number(1.0, x) + y * y),
    "sinh": lambda x, y, g: g * build("cosh", x),
    "cosh": lambda x, y, g: g * build("sinh", x),
    "atan": lambda x, y, g: g / (number(1.0, x) + x * x),
    "atanh": lambda x, y, g: g / (number(1.0, x) - x * x),
    **{name: _inverse(name) for name in _SQUARE},
    "erf": lambda x, y, g: g * number(2 / sqrt(pi), x) * build("exp", build("negative", x * x)),
    "negative": lambda x, y, g: build("negative", g),
    "copy": lambda x, y, g: g,
    "annotation.checkpoint": lambda x, y, g: g,
    "cast": lambda x, y, g: build("cast_like", g, x),
    "abs": lambda x, y, g: build("where", _below(x), build("negative", g), g),
    "nn.relu": lambda x, y, g: build("where", _below(x), build("zeros_like", g), g),
}


def _below(x: Expr) -> Any:
    return build("less", x, build("zeros_like", x))


def _elementwise(name: str, rule: Callable[[Expr, Expr, Expr], Any]) -> None:
    gradient_of(name)(lambda call, grad: [rule(call.args[0], call, grad)])


for _name, _rule in ELEMENTWISE.items():
    _elementwise(_name, _rule)


@gradient_of("clip")
def clip(call: Call, grad: Expr) -> list[Any]:
    (x,), none = call.args, build("zeros_like", grad)
    below = build("less", x, number(call.attrs.a_min, x))
    above = build("greater", x, number(call.attrs.a_max, x))
    return [build("where", below, none, build("where", above, none, grad))]


# What the result does not depend on smoothly ----------------------------------------------------


@gradient_of(
    "zeros", "ones", "zeros_like", "ones_like", "dyn.zeros", "dyn.ones", "shape_of", "equal",
    "not_equal", "less", "less_equal", "greater", "greater_equal",
)  # fmt: skip
def none(call: Call, grad: Expr) -> list[Expr]:
    return zeros(*call.args)


# Two arguments, broadcast -----------------------------------------------------------------------


@gradient_of("add")
def add(call: Call, grad: Expr) -> list[Expr]:
    x, y = call.args
    return [summed(grad, x), summed(grad, y)]


@gradient_of("subtract")
def subtract(call: Call, grad: Expr) -> list[Expr]:
    x, y = call.args
    return [summed(grad, x), summed(build("negative", grad), y)]


@gradient_of("multiply")
def multiply(call: Call, grad: Expr) -> list[Expr]:
    x, y = call.args
    return [summed(grad * y, x), summed(grad * x, y)]


@gradient_of("divide")
def divide(call: Call, grad: Expr) -> list[Expr]:
    x, y = call.args
    return [summed(grad / y, x), summed(build("negative", grad * x / (y * y)), y)]


@gradient_of("where")
def where(call: Call, grad: Expr) -> list[Expr]:
    condition, x, y = call.args
    none = build("zeros_like", grad)
    taken, left = build("where", condition, grad, none), build("where", condition, none, grad)
    return [*zeros(condition), summed(taken, x), summed(left, y)]


@gradient_of("collapse_sum_like")
def collapse_sum_like(call: Call, grad: Expr) -> list[Any]:
    x, y = call.args
    return [build("broadcast_to_like", grad, x), *zeros(y)]


@gradient_of("collapse_sum_to")
def collapse_sum_to(call: Call, grad: Expr) -> list[Any]:
    return [build("broadcast_to_like", grad, call.args[0]), *zeros(*call.args[1:])]


@gradient_of("broadcast_to_like")
def broadcast_to_like(call: Call, grad: Expr) -> list[Expr]:
    return [summed(grad, call.args[0]), *zeros(call.args[1])]


# Reductions -------------------------------------------------------------------------------------


def reduced_axes(call: Call) -> list[int]:
    """The axes of its first argument that a reduction sums over, from 0."""
    attrs, rank = call.attrs, len(shape_of(call.args[0]))
    axes = range(rank) if attrs.axis is None else [a % rank for a in attrs.axis]
    left_out = attrs.exclude and attrs.axis is not None
    return [a for a in range(rank) if (a in axes) != left_out]


def spread(call: Call, value: Expr) -> Expr:
    """A value of the reduction's result for each element of its first argument."""
    x = call.args[0]
    if not call.attrs.keepdims:
        axes = reduced_axes(call)
        kept = [1 if a in axes else s for a, s in enumerate(shape_of(x))]
        value = build("reshape", value, kept)
    return build("broadcast_to_like", value, x)


def _count(call: Call) -> int:
    shape = shape_of(call.args[0])
    return prod(shape[a] for a in reduced_axes(call))


@gradient_of("sum")
def total(call: Call, grad: Expr) -> list[Expr]:
    return [spread(call, grad)]


@gradient_of("mean")
def mean(call: Call, grad: Expr) -> list[Expr]:
    return [spread(call, grad) / number(_count(call), call.args[0])]


@gradient_of("variance")
def variance(call: Call, grad: Expr) -> list[Expr]:
    """The mean is an argument of its own; a small change of it changes nothing."""
    x, middle = call.args
    divisor = _count(call) - bool(call.attrs.unbiased)
    return [spread(call, grad) * (x - middle) * number(2.0 / divisor, x), *zeros(middle)]


@gradient_of("max")
def greatest(call: Call, grad: Expr) -> list[Expr]:
    """Shared by all elements that are the greatest."""
    x = call.args[0]
    chosen = build("cast_like", build("equal", x, spread(call, call)), grad)
    count = build("sum", chosen, axis=reduced_axes(call), keepdims=True)
    return [spread(call, grad) * chosen / count]


# Other shapes of the same elements --------------------------------------------------------------


@gradient_of(
    "reshape", "dyn.reshape", "reshape_like", "contrib_reverse_reshape", "expand_dims", "squeeze",
    "nn.batch_flatten",
)  # fmt: skip
def reshape(call: Call, grad: Expr) -> list[Any]:
    return [build("reshape_like", grad, call.args[0]), *zeros(*call.args[1:])]


@gradient_of("transpose")
def transpose(call: Call, grad: Expr) -> list[Any]:
    rank = len(shape_of(call.args[0]))
    axes = [a % rank for a in call.attrs.axes or range(rank)[::-1]]
    return [build("transpose", grad, axes=[axes.index(a) for a in range(rank)])]


def _cut(grad: Expr, lengths: Sequence[int], axis: int) -> TupleWrapper:
    ends = [sum(lengths[: n + 1]) for n in range(len(lengths) - 1)]
    parts: TupleWrapper = build("split", grad, tuple(ends), axis)
    return parts


@gradient_of("concatenate")
def concatenate(call: Call, grad: Expr) -> list[Any]:
    shapes = [f.concrete_shape for f in call.args[0].checked_type.fields]
    axis = call.attrs.axis % len(shapes[0])
    return [_cut(grad, [s[axis] for s in shapes], axis)]


@gradient_of("stack")
def stack(call: Call, grad: Expr) -> list[Any]:
    count = len(call.args[0].checked_type.fields)
    axis = call.attrs.axis % len(shape_of(call))
    return [[build("squeeze", p, axis=[axis]) for p in _cut(grad, [1] * count, axis)]]


# Elements by their places -----------------------------------------------------------------------


@gradient_of("take")
def take(call: Call, grad: Expr) -> list[Any]:
    """Added up at the places they came from; the places themselves have no gradient."""
    x, indices = call.args
    shape, count = shape_of(x), prod(shape_of(indices))
    if call.attrs.axis is None:
        shape, axis = (prod(shape),), 0
    else:
        axis = call.attrs.axis % len(shape)
    taken = [count if a == axis else s for a, s in enumerate(shape)]
    line = [count if a == axis else 1 for a in range(len(shape))]
    places = build("broadcast_to", build("reshape", indices, line), taken)
    rows = build("reshape", grad, taken)
    none = build("reshape", build("zeros_like", x), shape)
    added = build("scatter_elements", none, places, rows, axis=axis, reduction="add")
    return [build("reshape_like", added, x), *zeros(indices)]


@gradient_of("gather_nd")
def gather_nd(call: Call, grad: Expr) -> list[Any]:
    x, indices = call.args
    if call.attrs.batch_dims:
        raise PassError(f"gather_nd has a gradient for batch_dims=0, found {call.attrs.batch_dims}")
    return [build("scatter_nd", *zeros(x), indices, grad, "add"), *zeros(indices)]


@gradient_of("one_hot")
def one_hot(call: Call, grad: Expr) -> list[Any]:
    indices, on, off = call.args
    attrs, dtype = call.attrs, call.checked_type.dtype
    hot = build("one_hot", indices, const(1, dtype), const(0, dtype), attrs.depth, attrs.axis,
                dtype)  # fmt: skip
    whole, chosen = build("sum", grad), build("sum", grad * hot)
    rest = whole - chosen
    return [*zeros(indices), build("cast_like", chosen, on), build("cast_like", rest, off)]


@gradient_of("arange")
def arange(call: Call, grad: Expr) -> list[Any]:
    _, stop, _ = call.args
    count = shape_of(call)[0]
    steps = const(list(range(count)), call.checked_type.dtype)
    return [build("sum", grad), *zeros(stop), build("sum", grad * steps)]
