"""`while_loop`: a loop as a recursive function. Source: `relay.loops` of TVM 0.16."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from byoc_lab.compat.ir.scope_builder import ScopeBuilder
from byoc_lab.relay.ir.expr import Call, Expr, Function, Let, Tuple, Var


def while_loop(
    cond: Callable[..., Expr], loop_vars: Sequence[Expr], loop_bodies: Callable[..., Sequence[Expr]]
) -> Let:
    """The loop as a function from the initial values to a tuple of the final values.

    cond: a function from the loop variables to the condition to continue. loop_vars: one expression
    per variable, which provides its name and, if known, its type. loop_bodies: a function from the
    loop variables to their next values.
    """
    loop = Var("while_loop")
    variables = [_variable(n, given) for n, given in enumerate(loop_vars)]
    scope = ScopeBuilder()
    with scope.if_scope(cond(*variables)):
        scope.ret(Call(loop, list(loop_bodies(*variables))))
    with scope.else_scope():
        scope.ret(Tuple(variables))
    return Let(loop, Function(variables, scope.get()), loop)


def _variable(n: int, given: Expr) -> Var:
    if isinstance(given, Var):
        return Var(given.name_hint, given.type_annotation)
    ty: Any = given.checked_type if given.is_typed else None
    return Var(f"arg{n}", ty)


__all__ = ["while_loop"]
