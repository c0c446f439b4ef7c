"""The variables of an expression: bound, used and free ones, and whether their scopes are valid.

Source: `relay.analysis` of TVM 0.16 (names and order of results).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from byoc_lab.errors import WellFormedError
from byoc_lab.printing import printable
from byoc_lab.relay.ir.adt import Match
from byoc_lab.relay.ir.dataflow import Var
from byoc_lab.relay.ir.node import Expr
from byoc_lab.relay.ir.scopes import Function, Let
from byoc_lab.relay.ir.visit import opens_scope, post_order


def bound_by(node: Expr) -> tuple[Var, ...]:
    """The variables that a node itself binds."""
    return tuple(v for v in node.binds() if isinstance(v, Var))


def bound_vars(expr: Expr) -> list[Var]:
    """Variables that a parameter list, a let or a pattern inside `expr` binds."""
    return list(dict.fromkeys(v for node in outside_in(expr) for v in bound_by(node)))


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
    before the variables in its value."""
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
    """`free_vars` of an expression. nodes: all its nodes, operands first."""
    used: list[Var] = []
    bound: set[Expr] = set()
    for node in nodes:
        if isinstance(node, Var):
            used.append(node)
        else:
            bound.update(node.binds())
    return [v for v in used if v not in bound]


def well_formed(expr: Expr) -> bool:
    """Whether every variable is bound at most once and used only inside its scope."""
    return not walk_scopes(expr).faults


def check_well_formed(expr: Expr) -> None:
    """Raise WellFormedError for a variable that is bound twice or used outside of its scope.

    A node that several scopes share belongs to the first one visited.
    """
    faults = walk_scopes(expr).faults
    if faults:
        raise WellFormedError(str(faults[0]))


@dataclass(frozen=True)
class ScopeFault:
    """A variable that violates a scope rule. how: the violation. to_do: the remedy."""

    variable: Var
    how: str
    to_do: str = "give each binder a separate variable"

    @printable
    def __str__(self) -> str:
        return f"%{self.variable.name_hint} is {self.how}; {self.to_do}"


@dataclass
class Scopes:
    """The nodes of an expression except variables, its free variables, and violated rules.

    in_own_value: uses of a let variable in the value of its own let, if that is not a function
    literal. As in TVM, such an expression is well-formed, but type inference rejects it.
    """

    nodes: set[Expr] = field(default_factory=set)
    free: set[Var] = field(default_factory=set)
    faults: list[ScopeFault] = field(default_factory=list)
    in_own_value: list[ScopeFault] = field(default_factory=list)


def walk_scopes(expr: Expr) -> Scopes:
    """The scopes of an expression, with every fault of `check_well_formed`."""
    found = Scopes()
    inside: set[Var] = set()  # variables bound at the current position
    bound: set[Var] = set()
    unbound: set[Var] = set()  # variables of the lets whose value contains the current position
    stack: list[Any] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, _Scope):
            held = unbound if node.of_value else inside
            if node.ends:
                held.difference_update(node.vars)
                continue
            if not node.of_value:
                found.faults += _bound_again(node.vars, bound, found.free)
            held.update(node.vars)
        elif isinstance(node, Var):
            if node in unbound:
                how = "used in the value of its own let, which is not a function literal"
                found.in_own_value.append(ScopeFault(node, how, "use another operand"))
            if node not in bound:
                found.free.add(node)
            elif node not in inside:
                how = "used outside of the scope in which it is bound"
                found.faults.append(ScopeFault(node, how, "use it inside, or bind it further out"))
        elif node not in found.nodes:
            found.nodes.add(node)
            below = _with_scopes(node) if opens_scope(node) else node.parts()
            stack += below[::-1]
    return found


def _bound_again(binds: Iterable[Var], bound: set[Var], free: set[Var]) -> Iterator[ScopeFault]:
    """Add the variables of a binder to `bound`; variables bound or used before are faults."""
    for v in binds:
        if v in bound or v in free:
            often = "more than once" if v in bound else "and also used outside of its scope"
            yield ScopeFault(v, f"bound {often}")
        bound.add(v)


@dataclass(frozen=True)
class _Scope:
    """The begin or the end of the scope of some variables, or of the value of their let."""

    vars: tuple[Var, ...]
    ends: bool = False
    of_value: bool = False


def _with_scopes(node: Expr) -> list[Expr | _Scope]:
    """The parts of a node, with begin and end marks of scopes instead of the variables that it
    binds."""
    if isinstance(node, Match):
        below: list[Expr | _Scope] = [node.data]
        for clause in node.clauses:
            held = clause.lhs.vars
            below += (_Scope(held), clause.rhs, _Scope(held, ends=True))
        return below
    held = bound_by(node)
    inner: Sequence[Expr | _Scope] = node.parts()[len(held) :]
    if isinstance(node, Let):
        early = () if isinstance(node.value, Function) else held
        end = _Scope(early, ends=True, of_value=True)
        inner = (_Scope(early, of_value=True), node.value, end, node.body)
    return [_Scope(held), *inner, _Scope(held, ends=True)]
