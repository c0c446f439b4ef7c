"""Helpers with which students change modules, and the networks of several exercises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from byoc_lab import backends, relay
from byoc_lab.relay.ir.expr import Call, Expr, Function, Var, const
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.relay.typing.infer import infer_module


def change_calls(mod: IRModule, change: Callable[[Call], Expr]) -> IRModule:
    """The module with each call of @main replaced by `change(call)`, operands first."""
    out = mod.copy()
    out["main"] = rebuild(
        mod["main"], lambda pre, post: change(post) if isinstance(post, Call) else post
    )
    return out


def module_of(result: Expr, params: Sequence[Var] | None = None) -> IRModule:
    """A typed module whose @main computes `result`."""
    free = list(relay.analysis.free_vars(result)) if params is None else list(params)
    return infer_module(IRModule.from_expr(Function(free, result)))


def conv(data: Expr, weight: Expr | str, channels: int, **attrs: Any) -> Expr:
    """A conv2d of 3x3 with padding; a weight given by name is a parameter."""
    if isinstance(weight, str):
        weight = relay.var(weight)
    return relay.nn.conv2d(
        data, weight, channels=channels, kernel_size=(3, 3), padding=(1, 1), **attrs
    )


def numbers(random: Any, *shape: int) -> Expr:
    """A constant of random float32 numbers between 0.5 and 1.5."""
    return const(random.uniform(0.5, 1.5, shape).astype("float32"))


LIBRARY = "edu"
"""A small back end for exercises: it computes only `LIBRARY_OPERATORS`."""
LIBRARY_OPERATORS = ("nn.conv2d", "nn.relu", "tanh", "sigmoid", "add")


def library() -> str:
    """The name of the small back end, which is registered on first use; it generates no code."""
    if LIBRARY not in backends.names():
        backends.register(LIBRARY, supports=LIBRARY_OPERATORS)
    return LIBRARY
