"""Values that get names, one after the other: what `let`s are made of."""

from __future__ import annotations

from byoc_lab.relay.expr import Expr, Let, Var
from byoc_lab.relay.types import Type


class LetList:
    """Values under names of their own, `x_0`, `x_1`, ..., the first in the outermost let."""

    def __init__(self, first_number: int = 0):
        self.first_number = first_number
        self.bound: list[tuple[Var, Expr]] = []

    @property
    def next_number(self) -> int:
        return self.first_number + len(self.bound)

    def name(self, value: Expr, ty: Type | None = None) -> Var:
        """A new variable for `value`, of this checked type."""
        var = Var(f"x_{self.next_number}")
        var = var if ty is None else var.with_type(ty)
        self.bound.append((var, value))
        return var

    def close(self, result: Expr) -> Expr:
        """`result`, with all the names around it."""
        for var, value in reversed(self.bound):
            result = Let(var, value, result)
        return result
