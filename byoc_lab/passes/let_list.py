"""Values that get names, one after the other: what `let`s are made of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from byoc_lab.relay.expr import Expr, Let, Var
from byoc_lab.relay.types import Type


class LetList:
    """Values under names of their own, `x_0`, `x_1`, ..., the first in the outermost let.

    numbers: where the numbers come from, for lists that are to have no name in common.
    """

    def __init__(self, numbers: Iterator[int] | None = None):
        self.numbers = count() if numbers is None else numbers
        self.bound: list[tuple[Var, Expr]] = []

    def fresh(self) -> Var:
        """A new name, for `bind`."""
        return Var(f"x_{next(self.numbers)}")

    def bind(self, var: Var, value: Expr) -> Var:
        self.bound.append((var, value))
        return var

    def name(self, value: Expr, ty: Type | None = None) -> Var:
        """A new name for `value`, of this checked type."""
        var = self.fresh()
        return self.bind(var if ty is None else var.with_type(ty), value)

    def close(self, result: Expr) -> Expr:
        """`result`, with all the names around it."""
        for var, value in reversed(self.bound):
            result = Let(var, value, result)
        return result
