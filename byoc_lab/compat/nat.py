"""`tvm.relay.testing.nat`: natural numbers of "nat.rly", as expressions and as values."""

from __future__ import annotations

from typing import Any

from byoc_lab.compat.containers import ConstructorValue
from byoc_lab.relay.expr import Expr
from byoc_lab.relay.prelude import Prelude


def get_type(prelude: Prelude, name: str) -> tuple[Any, ...]:
    """The type of that name and its constructors."""
    return prelude.mod.get_type(name)


def make_nat_expr(prelude: Prelude, n: int) -> Expr:
    """The expression `S(S(...Z))` of `n`."""
    _, zero, successor = get_type(prelude, "nat")
    made = zero()
    for _ in range(n):
        made = successor(made)
    return made


def make_nat_value(prelude: Prelude, n: int) -> ConstructorValue:
    """The value of `make_nat_expr`."""
    _, zero, successor = get_type(prelude, "nat")
    made = ConstructorValue(zero.tag, [], zero)
    for _ in range(n):
        made = ConstructorValue(successor.tag, [made], successor)
    return made


def count(prelude: Prelude, n: ConstructorValue) -> int:
    """The number that a value of type nat stands for."""
    _, zero, successor = get_type(prelude, "nat")
    found = 0
    while n.tag == successor.tag:
        (n,) = n.fields
        found += 1
    if n.tag != zero.tag:
        raise ValueError(f"expected a value of type nat, found {n!r}")
    return found


__all__ = ["count", "get_type", "make_nat_expr", "make_nat_value"]
