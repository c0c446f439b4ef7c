"""A whole Relax function in Relay, for its NumPy reference: DNNL's operators and more.

What a call computes is all that counts here; DNNL need not support it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.errors import BuildError
from byoc_lab.relax.operators import (
    OPERATORS,
    Translation,
    axes_of,
    binary,
    ints,
    relay_call,
    unary,
)
from byoc_lab.relax.to_relay import to_relay
from byoc_lab.relax.types import number, type_of
from byoc_lab.relay.ir.expr import Expr, Function, Tuple, TupleGetItem


def reference_function(function: Any) -> Function:
    """A typed Relay function that computes the same. Raises BuildError, naming the operator that
    has no counterpart."""
    return to_relay(function.with_attr("global_symbol", "main"), _translated)[0]


def _translated(call: Any, operands: list[Any]) -> Expr:
    name = str(call.op.name).removeprefix("relax.")
    translation = MORE.get(name) or OPERATORS.get(name)
    if translation is None:
        raise BuildError(f"the reference has no counterpart of relax.{name}")
    return translation(call, *operands)


def _reduction(name: str) -> Translation:
    def build(call: Any, data: Expr) -> Expr:
        rank = len(type_of(call.args[0]).shape)
        axes = sorted(axis % rank for axis in axes_of(call.attrs.axis, rank))
        return relay_call(name, data, axis=axes, keepdims=bool(call.attrs.keepdims))

    return build


def _batch_norm(call: Any, *operands: Expr) -> Expr:
    attrs = call.attrs
    if bool(getattr(attrs, "training", False)):
        raise BuildError("the reference has no batch norm of training")
    made = relay_call(
        "nn.batch_norm",
        *operands,
        axis=int(attrs.axis),
        epsilon=float(attrs.epsilon),
        center=bool(attrs.center),
        scale=bool(attrs.scale),
    )
    wrapped = getattr(made, "astuple", lambda: made)()
    return Tuple([TupleGetItem(wrapped, n) for n in range(3)])


def _cumsum(call: Any, data: Expr) -> Expr:
    attrs = call.attrs
    if attrs.axis is None:
        raise BuildError("the reference has cumsum of an axis, found none")
    return relay_call(
        "cumsum", data, axis=int(number(attrs.axis)), exclusive=bool(attrs.exclusive or False)
    )


def _adaptive_pool(call: Any, data: Expr) -> Expr:
    size = call.attrs.output_size
    return relay_call(
        "nn.adaptive_avg_pool2d",
        data,
        output_size=None if size is None else ints(size),
        layout=str(call.attrs.layout),
    )


MORE: Mapping[str, Translation] = {
    **{
        name: unary(name)
        for name in ("erf", "sin", "cos", "tan", "floor", "ceil", "trunc", "sign", "negative")
    },
    **{name: unary(name) for name in ("rsqrt", "logical_not", "zeros_like", "ones_like")},
    **{
        name: binary(name)
        for name in ("power", "equal", "not_equal", "less", "less_equal", "greater")
    },
    **{name: binary(name) for name in ("greater_equal", "logical_and", "logical_or")},
    **{name: _reduction(name) for name in ("sum", "max", "min", "prod", "mean")},
    "square": lambda call, x: relay_call("multiply", x, x),
    "where": lambda call, condition, a, b: relay_call("where", condition, a, b),
    "astype": lambda call, x: relay_call("cast", x, dtype=str(call.attrs.dtype)),
    "nn.batch_norm": _batch_norm,
    "nn.adaptive_avg_pool2d": _adaptive_pool,
    "cumsum": _cumsum,
}
"""Translations beside those for DNNL, or in their place where these refuse what DNNL lacks."""
