"""`ScopeBuilder`: builds a chain of `let`s and branches line by line.

    sb = relay.ScopeBuilder()
    y = sb.let("y", relay.nn.relu(x))
    with sb.if_scope(condition):
        sb.ret(y)
    with sb.else_scope():
        sb.ret(relay.negative(y))
    relay.Function([x, condition], sb.get())

Source: `tvm.relay.scope_builder` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from byoc_lab.errors import WellFormedError
from byoc_lab.relay.ir.expr import Expr, If, Let, TupleWrapper, Var


class _Scope:
    """The contents of one scope so far: bindings, and the result if given."""

    def __init__(self) -> None:
        self.bindings: list[tuple[Var, Expr]] = []
        self.result: Expr | None = None

    def expression(self) -> Expr:
        if self.result is None:
            raise WellFormedError("a scope has no result: end it with ret(value)")
        made = self.result
        for variable, value in reversed(self.bindings):
            made = Let(variable, value, made)
        return made


class ScopeBuilder:
    """Builds one expression; every scope ends with `ret`, or with an if and its else branch."""

    def __init__(self) -> None:
        self._scopes = [_Scope()]
        self._branch: tuple[Expr, Expr] | None = None  # condition and true branch, until else_scope

    @property
    def _here(self) -> _Scope:
        return self._scopes[-1]

    def let(self, var: Var | str | tuple[str, Any], value: Any) -> Var:
        """Bind `value` to a variable: a given one, or a new one with a given name, or name and
        type."""
        if isinstance(var, (tuple, list)):
            var = Var(*var)
        elif isinstance(var, str):
            var = Var(var)
        if isinstance(value, TupleWrapper):
            value = value.tuple_value
        self._here.bindings.append((var, value))
        return var

    def ret(self, value: Any) -> None:
        """End the scope with its result. Raises WellFormedError if the scope already has a
        result."""
        if self._here.result is not None:
            raise WellFormedError("ret was called for this scope already")
        self._here.result = value.tuple_value if isinstance(value, TupleWrapper) else value

    @contextmanager
    def if_scope(self, cond: Expr) -> Iterator[None]:
        """The branch for a true `cond`; an else_scope must follow."""
        with self._inner() as scope:
            yield
        self._branch = (cond, scope.expression())

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """The false branch; the if expression becomes the result of the enclosing scope."""
        if self._branch is None:
            raise WellFormedError("else_scope must follow an if_scope")
        (cond, taken), self._branch = self._branch, None
        with self._inner() as scope:
            yield
        self.ret(If(cond, taken, scope.expression()))

    @contextmanager
    def _inner(self) -> Iterator[_Scope]:
        self._scopes.append(_Scope())
        try:
            yield self._here
        finally:
            self._scopes.pop()

    def get(self) -> Expr:
        """The expression. Raises WellFormedError if a scope has no result."""
        if self._branch is not None:
            raise WellFormedError("an if_scope has no else_scope")
        return self._here.expression()
