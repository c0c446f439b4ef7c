"""Tries the entries of a pattern table around a call.

A pattern may contain the operator of a call anywhere, so the nearest match may end at the call or
at one of its users. Each entry is tried at the call and at its users, over as many levels as the
pattern is deep, and the best partial match counts. If none of these contains the call, each part of
the pattern that calls the operator is matched at the call, and the walk proceeds from there, part
by part and user by user, to the first mismatch (`_climb`).

At most MAX_ROOTS roots are tried for a call and an entry; results are cached in the `NearMatcher`
of the entry, which all calls share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Let, Op
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.relay.patterns.below import MAX_DEPTH, USERS
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.near_miss import NearMatcher, bound_value
from byoc_lab.relay.patterns.partial_match import Conditions, Mismatch, PartialMatch
from byoc_lab.relay.patterns.patterns import DominatorPattern

MAX_ROOTS = 64
"""Maximum number of match roots that are tried for one call and pattern."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """An entry of the pattern table, tried around a call.

    position: the position of the entry in the table. root: the node at which its pattern was tried.
    """

    position: int
    name: str
    pattern: DFPattern
    check: Any
    root: Expr
    graph: IndexedGraph = field(repr=False)
    fit: PartialMatch

    @cached_property
    def body(self) -> dict[Expr, None]:
        """The nodes of a match that no other match may contain, operands before users."""
        nodes = (n for n in self.fit.covered if not isinstance(n, (Op, Function, Constant)))
        return dict.fromkeys(sorted(nodes, key=self.graph.index.__getitem__))


def attempts_with(inquiry: Inquiry, subject: Call) -> Iterator[Attempt]:
    """The entries of the table with the operator of a call, each with its best partial match."""
    graph = inquiry.graph_of(subject)
    if graph is None or not isinstance(subject.op, Op):
        return
    above: dict[int, list[tuple[Expr, str | None]]] = {}
    for position in inquiry.entries_with(subject.op.name):
        name, pattern, check = inquiry.table[position]
        near = inquiry.matcher(position, graph)
        if near.depth not in above:
            above[near.depth] = [(e, _callee(e)) for e in _above(subject, graph, near.depth)]
        roots = near.roots
        ends = [e for e, callee in above[near.depth] if roots is None or callee in roots]
        fits = [(e, f) for e in ends if _concerns(f := near.fit(e), subject, graph)]
        if not any(subject in f.covered for _, f in fits):
            inner = _inner_fit(near, subject, graph)
            fits += [(subject, inner)] if inner is not None else []
        if not fits:
            continue
        root, fit = max(fits, key=lambda pair: _nearness(subject, pair[1]))
        yield Attempt(position, name, pattern, check, root, graph, fit)


def nearest_attempts(subject: Call, attempts: Sequence[Attempt]) -> list[Attempt]:
    """The nearest attempts; all of them stop at the same node."""
    ranks = [_nearness(subject, a.fit) for a in attempts]
    best = max(ranks)
    place = attempts[ranks.index(best)].fit.stops[0].found
    ranked = zip(attempts, ranks, strict=True)
    return [a for a, rank in ranked if rank == best and a.fit.stops[0].found is place]


def _nearness(subject: Call, fit: PartialMatch) -> tuple[bool, tuple[bool, float, int]]:
    """A sort key for matches that concern a call; larger is nearer. Matches that contain the call,
    unless they stop right after it, exceed all others; then the rank decides."""
    return subject in fit.covered and (not fit.stops or fit.matched > 1), fit.rank


def _concerns(fit: PartialMatch, subject: Call, graph: IndexedGraph) -> bool:
    """Whether a partial match concerns a call: the call is matched, or it is the mismatch."""
    if subject in fit.covered:
        return True
    stops = (s.found for s in fit.stops)
    return fit.matched > 0 and any(subject in (f, bound_value(f, graph)) for f in stops)


def _inner_fit(near: NearMatcher, subject: Call, graph: IndexedGraph) -> PartialMatch | None:
    """The best match of the call with an inner part of a pattern, if the pattern does not match
    around the call."""
    fits = [_climb(near, part, subject, graph) for part in near.calling(subject.op_name)]
    if len(fits) == 1:
        return fits[0]
    levels = near.levels

    def key(fit: PartialMatch) -> tuple[tuple[bool, float, int], int]:
        """Among equally near matches, prefers the one with the fewest operators still to match."""
        return fit.rank, -min((levels.get(s.pattern, 0) for s in fit.stops), default=0)

    return max(fits, key=key, default=None)


def _climb(near: NearMatcher, part: DFPattern, node: Expr, graph: IndexedGraph) -> PartialMatch:
    """Match a part of a pattern at a node, then the enclosing parts at the users of the node, up to
    the first mismatch."""
    fit = near.part(part, node)
    for _ in range(MAX_DEPTH):
        if fit.stops:
            break
        using, unmet = _patterns_using(near, part, node)
        if not using:
            fit = fit if unmet is None else near.part(unmet, node)
            break
        step: PartialMatch | tuple[DFPattern, Expr]
        if isinstance(using[0], DominatorPattern):
            step = _over_path(near, using[0], node, fit, graph)
        else:
            step = _to_user(near, using, node, fit, graph)
        if isinstance(step, PartialMatch):
            return step
        part, node = step
        fit = near.part(part, node)
    if not fit.stops:  # each part matches, so the whole pattern decides
        return near.fit(node)
    return replace(fit, total=near.size)


def _to_user(
    near: NearMatcher,
    using: Sequence[DFPattern],
    node: Expr,
    fit: PartialMatch,
    graph: IndexedGraph,
) -> PartialMatch | tuple[DFPattern, Expr]:
    """The pattern and the user of a node that match; else the partial match with the mismatch. If a
    user fits the pattern except for its operands, because the node is at a different operand
    position, the operands decide: the mismatch is the operand that does not match, or none if the
    pattern has no operator at that position."""
    users = _users(node, graph)
    tried = [(near.part(p, u), p, u) for p in using for u in users]
    fitting = [t for t in tried if node in t[0].covered]
    if fitting:
        _, part, user = max(fitting, key=lambda t: t[0].rank)
        return part, user
    elsewhere = [f for f, _, u in tried if all(s.found is not u for s in f.stops)]
    if elsewhere:
        beside = max(elsewhere, key=lambda f: f.rank)
        return replace(fit if beside.stops else beside, total=near.size, stops=beside.stops)
    levels = near.levels
    fewest = min(levels.get(p, 0) for p in using)
    first, *others = (p for p in using if levels.get(p, 0) == fewest)
    stop = Mismatch(first, users[0] if users else node, below=node, others=tuple(others))
    return replace(fit, total=near.size, stops=(stop,))


def _over_path(
    near: NearMatcher,
    dominator: DominatorPattern,
    node: Expr,
    fit: PartialMatch,
    graph: IndexedGraph,
) -> PartialMatch | tuple[DFPattern, Expr]:
    """The end of a dominator's path that starts at a node; else the partial match with the
    mismatch."""
    for _ in range(MAX_DEPTH):
        users = _users(node, graph)
        end = next((u for u in users if not near.part(dominator.child, u).stops), None)
        if end is not None:
            whole = near.part(dominator, end)
            if not whole.stops:
                return dominator, end
            if any(stop.outside for stop in whole.stops):
                return replace(fit, total=near.size, stops=whole.stops)
        on = next((u for u in users if not near.part(dominator.path, u).stops), None)
        if end is not None or on is None or isinstance(on, Function):
            found = end or (users[0] if users else node)
            stop = Mismatch(dominator, found, below=node)
            if end is None:
                stop = Mismatch(dominator.child, found, below=node, others=(dominator.path,))
            return replace(fit, total=near.size, stops=(stop,))
        node = on
    return replace(fit, total=near.size, stops=(Mismatch(dominator, node, below=node),))


def _patterns_using(
    near: NearMatcher, part: DFPattern, node: Expr
) -> tuple[list[DFPattern], DFPattern | None]:
    """The patterns of calls, tuples and fields that have a given part as operand. If the part is
    the parent or path of a dominator: only the dominator. Also returns a condition on the part that
    `node` does not meet, if there is one."""
    same = {part}
    unmet = None
    found: list[DFPattern] = []
    todo = list(near.parents.get(part, ()))
    while todo:
        position = heappop(todo)  # operands precede users
        if todo and todo[0] == position:
            continue
        p = near.parts[position]
        if isinstance(p, DominatorPattern) and p.child not in same:
            return [p], unmet
        if isinstance(p, USERS):
            found.append(p)
        elif isinstance(p, Conditions) and near.part(p, node).stops:
            unmet = p
        else:  # a condition that holds, an alternative, or the dominator of its child
            same.add(p)
            for above in near.parents.get(p, ()):
                if above > position:  # otherwise it is a pattern with the part as operand
                    heappush(todo, above)
    return found, unmet


def _users(node: Expr, graph: IndexedGraph) -> list[Expr]:
    """The users of a node; functions that return it come last. If the node is the body of a let,
    the users of the let replace the let."""
    found: dict[Expr, None] = {}
    todo = [node]
    while todo:
        at = todo.pop()
        for user in graph.outputs.get(at, ()):
            if isinstance(user, Let) and user.body is at:
                todo.append(user)
            else:
                found[user] = None
    return sorted(found, key=lambda user: isinstance(user, Function))


def _above(node: Expr, graph: IndexedGraph, levels: int) -> list[Expr]:
    """A node and its users, up to this number of levels."""
    found: dict[Expr, None] = {node: None}
    level = [node]
    for _ in range(levels):
        level = [u for n in level for u in graph.outputs.get(n, ()) if u not in found]
        found.update(dict.fromkeys(level))
        if not level or len(found) > MAX_ROOTS:
            break
    return list(found)


def _callee(node: Expr) -> str | None:
    return node.op.name if isinstance(node, Call) and isinstance(node.op, Op) else None
