"""Correspondence of global functions and of wrappers (see `flow`), derived from the correspondence
of real nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable
from typing import Protocol

from byoc_lab.lab.diffing.flow import Flow, label
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Op,
    TupleGetItem,
    Var,
)


class Partners(Protocol):
    """The partners that are known so far (`matching.Correspondence`)."""

    before: Flow
    after: Flow
    to_after: dict[Expr, Expr]
    to_before: dict[Expr, Expr]
    functions: dict[str, str]

    def pair(self, x: Expr, y: Expr) -> None:
        """Make two nodes partners, and the variables that they bind."""

    def open(self, x: Expr, y: Expr) -> bool:
        """Whether two nodes have no partners and may become partners."""


def pair_functions(found: Partners) -> dict[str, str]:
    """The names of corresponding global functions, which are paired with their parameters.

    Functions of one name correspond, unless their nodes moved to, or came from, functions with
    other names. Functions with different names correspond if most nodes of each are in the other.
    """
    before, after = found.before, found.after
    votes: Counter[tuple[str, str]] = Counter()
    for x, y in found.to_after.items():
        if not isinstance(x, (Constant, Var, Function)):
            votes[before.home[x], after.home[y]] += 1
    chosen: dict[str, str] = {}
    source: dict[str, str] = {}
    for (f, g), _ in votes.most_common():  # the largest counts first
        chosen.setdefault(f, g)
        source.setdefault(g, f)
    mutual = {f: g for f, g in chosen.items() if source.get(g) == f}
    names: dict[str, str] = {}
    for name in sorted(gv.name_hint for gv in before.mod if gv.name_hint in after.mod):
        moved_away = mutual.get(name, name) != name
        taken_over = source.get(name) in mutual and mutual[source[name]] == name != source[name]
        if not (moved_away and taken_over):
            names[name] = name
    taken = set(names.values())
    for f, g in sorted(mutual.items()):
        alike = label(before.mod[f]) == label(after.mod[g])
        if f not in names and g not in taken and alike:
            names[f] = g
            taken.add(g)
    for f, g in names.items():
        mine, theirs = before.mod[f], after.mod[g]
        if mine not in found.to_after and theirs not in found.to_before:
            found.pair(mine, theirs)
    return names


def pair_wrappers(found: Partners) -> None:
    """Pair wrappers of corresponding values (annotations, lets, function literals and so on). First
    pair wrappers at the same operand of corresponding users. Then pair in order: calls of
    corresponding globals, calls of literals, calls of globals, and at last calls of a literal with
    calls of a global."""

    def callee(node: Expr, flow: Flow) -> Hashable:
        if not (isinstance(node, Call) and isinstance(node.op, GlobalVar)):
            return node  # a key that no other call has
        name = node.op.name_hint
        return found.functions.get(name, name) if flow is found.before else name

    queue = deque(found.to_after.items())
    _drain(found, queue)
    _pair_in_order(found, queue, callee)
    _pair_in_order(found, queue, lambda node, flow: _calls_global(node))
    _pair_in_order(found, queue, lambda node, flow: None)


def _pair_in_order(
    found: Partners, queue: deque[tuple[Expr, Expr]], kind: Callable[[Expr, Flow], Hashable]
) -> None:
    """Pair wrappers of one kind around corresponding values, in order."""
    before, after = found.before, found.after
    leftover: dict[Hashable, tuple[list[Expr], list[Expr]]] = defaultdict(lambda: ([], []))
    for side, flow in enumerate((before, after)):
        partners = (found.to_after, found.to_before)[side]
        for node in flow.order:
            if node not in partners and _is_wrapper(flow, node):
                value = passed_on(flow, node)
                mine = value if flow is before else found.to_before.get(value)
                if mine is not None:
                    leftover[label(node), kind(node, flow), mine][side].append(node)
    for left, right in leftover.values():
        for x, y in zip(left, right, strict=False):
            if found.open(x, y):
                _pair(found, x, y, queue)
                _drain(found, queue)


def _drain(found: Partners, queue: deque[tuple[Expr, Expr]]) -> None:
    before, after = found.before, found.after
    while queue:
        x, y = queue.popleft()
        mine, theirs = x.parts(), y.parts()
        if len(mine) != len(theirs):
            continue
        for p, q in zip(mine, theirs, strict=True):
            if (
                found.open(p, q)
                and _calls_global(p) == _calls_global(q)
                and _is_wrapper(before, p)
                and _is_wrapper(after, q)
                and (
                    found.to_after.get(passed_on(before, p)) is passed_on(after, q)
                    or _same_let(p, q)
                    or _same_field(found, p, q)
                )
            ):
                _pair(found, p, q, queue)


def _calls_global(node: Expr) -> bool:
    """Whether a node is the call of a global function."""
    return isinstance(node, Call) and isinstance(node.op, GlobalVar)


def _pair(found: Partners, x: Expr, y: Expr, queue: deque[tuple[Expr, Expr]]) -> None:
    found.pair(x, y)
    queue.append((x, y))


def _same_let(x: Expr, y: Expr) -> bool:
    """Whether two lets bind variables with the same name; the value may have changed."""
    return isinstance(x, Let) and isinstance(y, Let) and x.var.name_hint == y.var.name_hint


def _same_field(found: Partners, x: Expr, y: Expr) -> bool:
    """Whether two projections take the same field of corresponding tuples; the value may differ."""
    return (
        isinstance(x, TupleGetItem)
        and isinstance(y, TupleGetItem)
        and x.index == y.index
        and found.to_after.get(x.tuple_value) is y.tuple_value
    )


def _is_wrapper(flow: Flow, node: Expr) -> bool:
    return not isinstance(node, (Constant, Op, GlobalVar, Var)) and not flow.is_real(node)


def passed_on(flow: Flow, node: Expr) -> Expr:
    """The real node that a wrapper concerns: for a let, the bound value."""
    if isinstance(node, Let):
        return flow.value[node.value]
    return flow.value[node.body] if isinstance(node, Function) else flow.value[node]
