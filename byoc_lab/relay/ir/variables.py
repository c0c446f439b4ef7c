"""The variables of an expression: bound, used and free ones, and whether their scopes are valid.

Source: `relay.analysis` of TVM 0.16 (names and order of results).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import WellFormedError
from byoc_lab.relay.ir.adt import Match
from byoc_lab.relay.ir.dataflow import Var
from byoc_lab.relay.ir.node import Expr
from byoc_lab.relay.ir.scopes import Let
from byoc_lab.relay.ir.visit import opens_scope, post_order


def bound_vars(expr: Expr) -> list[Var]:
    """Variables that a parameter list, a let or a pattern inside `expr` binds."""
    return list(dict.fromkeys(v for node in outside_in(expr) for v in node.binds()))


def outside_in(root: Expr) -> Iterator[Expr]:
    """Every node once, users before operands."""
    seen: set[Expr] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack += reversed(node.parts())


def all_vars(expr: Expr) -> list[Var]:
    """Every variable in `expr`, in the order of first occurrence; the variable of a let comes
    before those in its value."""
    met: dict[Expr, None] = {}
    stack = [expr]
    while stack:
        node = stack.pop()
        if node not in met:
            met[node] = None
            parts = (node.var, node.value, node.body) if isinstance(node, Let) else node.parts()
            stack += reversed(parts)
    return [node for node in met if isinstance(node, Var)]


def free_vars(expr: Expr) -> list[Var]:
    """Variables that `expr` uses and does not bind, in the order of first use."""
    return free_among(post_order(expr))


def free_among(nodes: Iterable[Expr]) -> list[Var]:
    """`free_vars` of an expression given by all its nodes, operands first."""
    used: list[Var] = []
    bound: set[Var] = set()
    for node in nodes:
        if isinstance(node, Var):
            used.append(node)
        else:
            bound.update(node.binds())
    return [v for v in used if v not in bound]


def well_formed(expr: Expr) -> bool:
    """Whether every variable is bound at most once and used only inside its scope."""
    try:
        check_well_formed(expr)
    except WellFormedError:
        return False
    return True


def check_well_formed(expr: Expr) -> None:
    """Raise WellFormedError for a variable that is bound twice or used outside of its scope.

    A node that several scopes share belongs to the first one visited.
    """
    walk_scopes(expr)


def walk_scopes(expr: Expr) -> tuple[set[Expr], set[Var]]:
    """`check_well_formed`, returning every node but variables, and the free variables."""
    inside: set[Var] = set()  # bound at the current position
    bound: set[Var] = set()
    free: set[Var] = set()
    seen: set[Expr] = set()
    stack: list[Any] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, _Scope):
            if node.ends:
                inside.difference_update(node.vars)
                continue
            for v in node.vars:
                if v in bound or v in free:
                    often = "more than once" if v in bound else "and also used outside of its scope"
                    raise WellFormedError(
                        f"%{v.name_hint} is bound {often}; give each binder a variable of its own"
                    )
                inside.add(v)
                bound.add(v)
        elif isinstance(node, Var):
            if node not in bound:
                free.add(node)
            elif node not in inside:
                raise WellFormedError(
                    f"%{node.name_hint} is used outside of the scope in which it is bound"
                )
        elif node not in seen:
            seen.add(node)
            below = _with_scopes(node) if opens_scope(node) else node.parts()
            stack += below[::-1]
    return seen, free


@dataclass(frozen=True)
class _Scope:
    """The begin or the end of the scope of some variables."""

    vars: tuple[Var, ...]
    ends: bool = False


def _with_scopes(node: Expr) -> list[Expr | _Scope]:
    """The parts of a node, with the limits of scopes in place of the variables that it binds."""
    if isinstance(node, Match):
        below: list[Expr | _Scope] = [node.data]
        for clause in node.clauses:
            held = clause.lhs.vars
            below += (_Scope(held), clause.rhs, _Scope(held, ends=True))
        return below
    held = node.binds()
    inner = (node.value, node.body) if isinstance(node, Let) else node.parts()[len(held) :]
    return [_Scope(held), *inner, _Scope(held, ends=True)]
