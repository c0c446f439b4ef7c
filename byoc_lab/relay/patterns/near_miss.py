"""Partial matches of patterns: how much of a pattern fits an expression, and the mismatches.

The matcher of `relay.patterns` answers yes or no. If the answer is no, this module walks pattern
and expression side by side, as the matcher does, and records where they differ.

Below an operator that matches, all operands are compared, even after a mismatch, so that
`PartialMatch.matched` counts all matching parts of the pattern. If two operand orders or
alternatives are possible, the result is the one with the higher `PartialMatch.rank`. Each pair of a
pattern part and an expression is compared once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

from byoc_lab.errors import PassError
from byoc_lab.relay.ir.expr import Call, Expr, Tuple, TupleGetItem, Var
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.relay.patterns.below import (
    MAX_DEPTH,
    called_operators,
    depth_of,
    levels_below,
    post_order_patterns,
    root_operators,
    size_of,
)
from byoc_lab.relay.patterns.foreign import AndPattern
from byoc_lab.relay.patterns.grouping import group_at
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.matcher import COMMUTATIVE, Matcher
from byoc_lab.relay.patterns.partial_match import (
    ANYTHING,
    Condition,
    Conditions,
    Mismatch,
    PartialMatch,
    nearer,
    stopped,
    together,
    used_by,
)
from byoc_lab.relay.patterns.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    DominatorPattern,
    ExprPattern,
    TupleGetItemPattern,
    TuplePattern,
    WildcardPattern,
)


class NearMatcher:
    """Matches one pattern partially with expressions of one graph; results are kept and shared.

    Subclasses for another IR override methods: `matches` and `holds` decide about a part of the
    pattern, `operands` pairs the operands of a call, `fit` decides about the whole pattern.
    """

    def __init__(self, pattern: DFPattern, graph: IndexedGraph):
        self.pattern = pattern
        self.graph = graph
        self._known: dict[tuple[DFPattern, Expr], PartialMatch] = {}
        self._open: set[tuple[DFPattern, Expr]] = set()  # in progress: patterns may be cyclic
        self._calling: dict[str, list[CallPattern]] = {}

    @cached_property
    def depth(self) -> int:
        return depth_of(self.pattern)

    @cached_property
    def size(self) -> int:
        return size_of(self.pattern)

    @cached_property
    def roots(self) -> frozenset[str] | None:
        """The operators that the pattern has at its root; None for any."""
        return root_operators(self.pattern)

    @cached_property
    def levels(self) -> dict[DFPattern, int]:
        """For each part, its smallest distance from the pattern's root, in levels of users."""
        return levels_below(self.pattern)

    @cached_property
    def parts(self) -> list[DFPattern]:
        """The parts of the pattern, children first."""
        return post_order_patterns(self.pattern)

    @cached_property
    def parents(self) -> dict[DFPattern, list[int]]:
        """For each part, the positions in `parts` of the parts that it is a child of."""
        found: dict[DFPattern, list[int]] = {}
        for position, part in enumerate(self.parts):
            for child in dict.fromkeys(part.children()):
                found.setdefault(child, []).append(position)
        return found

    def calling(self, operator: str) -> Sequence[CallPattern]:
        """The parts that accept a call of an operator."""
        if operator not in self._calling:
            calls = (p for p in self.parts if isinstance(p, CallPattern))
            names = ((p, called_operators(p)) for p in calls)
            self._calling[operator] = [p for p, of in names if of is None or operator in of]
        return self._calling[operator]

    def part(self, part: DFPattern, expr: Expr) -> PartialMatch:
        """The match of one part of the pattern with an expression."""
        return self._fit(part, expr, 0)

    def fit(self, root: Expr) -> PartialMatch:
        """The match of the pattern with `root`; its `stops` are empty exactly if the matcher
        accepts `root`."""
        found = self._fit(self.pattern, root, 0)
        try:
            group = group_at(self.pattern, root, self.graph)
        except PassError:  # a match nested too deeply for the matcher does not count
            group = None
        if group is not None:
            return PartialMatch(found.total, found.total, (), frozenset(group.nodes))
        return found if found.stops else replace(found, stops=(self._shared(root, found),))

    def matches(self, pattern: DFPattern, expr: Expr) -> bool:
        """Whether a part of the pattern matches."""
        return Matcher(self.graph).match(pattern, expr)

    def holds(self, pattern: Condition, expr: Expr) -> bool:
        """Whether the condition of a part holds for an expression that matches the rest of the
        part."""
        return pattern.holds(Matcher(self.graph), expr)

    def operands(self, pattern: CallPattern, call: Call) -> Sequence[DFPattern] | None:
        """The patterns of the operands of a call; None if the call has a different number of
        operands."""
        args = pattern.args or ()
        return args if len(args) == len(call.args) else None

    @cached_property
    def _reused(self) -> dict[DFPattern, None]:
        """The parts that are used in several positions, in the order of `parts`."""
        places = Counter(c for p in self.parts for c in p.children())
        return {p: None for p in self.parts if places[p] > 1}

    def _shared(self, root: Expr, found: PartialMatch) -> Mismatch:
        """The mismatch if each part matches and the whole pattern does not: one pattern object is
        used for two values."""
        unequal = found.unequal
        several = (p for p in self._reused if p in unequal)
        return Mismatch(next(several, next(iter(self._reused), self.pattern)), root, reused=True)

    def _fit(self, pattern: DFPattern, expr: Expr, depth: int) -> PartialMatch:
        if isinstance(pattern, WildcardPattern) and pattern.pattern is None:
            if pattern in self._reused:
                return replace(ANYTHING, values=frozenset({(pattern, expr)}))
            return ANYTHING
        if isinstance(pattern, CallPattern) and isinstance(expr, Call):
            roots = root_operators(pattern)
            if roots is not None and expr.op_name not in roots:
                return stopped(pattern, expr)  # most pairs end here, too many to cache
        key = (pattern, expr)
        known = self._known.get(key)
        if known is not None:
            return known
        if key in self._open:
            return stopped(pattern, expr)
        if depth < MAX_DEPTH:
            self._open.add(key)
            found = self._walk(pattern, expr, depth + 1)
            value = bound_value(expr, self.graph) if found.stops else None
            if value is not None:
                inner = self._fit(pattern, value, depth + 1)
                beyond = inner.matched + inner.beyond
                found = replace(found, covered=inner.covered, beyond=beyond)
            if pattern in self._reused and not found.stops:
                found = replace(found, values=found.values | {key})
            self._open.discard(key)
        else:
            found = stopped(pattern, expr)
        self._known[key] = found
        return found

    def _walk(self, pattern: DFPattern, expr: Expr, depth: int) -> PartialMatch:
        if isinstance(pattern, CallPattern):
            return self._call(pattern, expr, depth)
        if isinstance(pattern, WildcardPattern):
            assert pattern.pattern is not None  # wildcards that accept anything are handled before
            return self._fit(pattern.pattern, expr, depth)
        if isinstance(pattern, AltPattern):
            return nearer(*(self._fit(p, expr, depth) for p in pattern.children()))
        if isinstance(pattern, Conditions):
            inner = self._fit(pattern.pattern, expr, depth)
            if inner.stops:
                return replace(inner, total=inner.total + 1)
            holds = self.holds(pattern, expr)
            stops = () if holds else (Mismatch(pattern, expr),)
            return replace(inner, matched=inner.matched + holds, total=inner.total + 1, stops=stops)
        if isinstance(pattern, AndPattern):
            return together(*(self._fit(p, expr, depth) for p in pattern.children()))
        if isinstance(pattern, DominatorPattern):
            return self._dominator(pattern, expr, depth)
        if isinstance(pattern, TuplePattern) and pattern.fields is not None:
            if isinstance(expr, Tuple) and len(expr.fields) == len(pattern.fields):
                return self._parts(pattern.fields, expr.fields, expr, depth, "[{}]")
        elif isinstance(pattern, TupleGetItemPattern):
            if isinstance(expr, TupleGetItem):
                found = self._parts(
                    [pattern.tuple], [expr.tuple_value], expr, depth, ".tuple_value"
                )
                if pattern.index in (None, expr.index):
                    return found
                further = (Mismatch(pattern, expr), *found.stops)
                return replace(found, matched=found.matched - 1, stops=further)
        elif self.matches(pattern, expr):
            return PartialMatch(1, 1, (), frozenset({expr}))
        return stopped(pattern, expr)

    def _dominator(self, pattern: DominatorPattern, expr: Expr, depth: int) -> PartialMatch:
        total = size_of(pattern)
        child = self._fit(pattern.child, expr, depth)
        if child.stops:
            return replace(child, total=total)
        if self.matches(pattern, expr):
            return PartialMatch(total, total, (), frozenset({expr}))
        return PartialMatch(child.matched, total, (self._off_path(pattern, expr),), child.covered)

    def _off_path(self, pattern: DominatorPattern, root: Expr) -> Mismatch:
        """The first value that matches neither the path of a dominator nor its parent. If there is
        no such value (there are several parents, or a value is used outside `root`), the whole
        dominator."""
        is_parent, is_on_path = (partial(self.matches, p) for p in (pattern.parent, pattern.path))
        found = self.graph.off_path(root, is_parent, is_on_path)
        if found is None:
            return self._used_outside(pattern, root)
        node, user = found
        if user is None:
            return Mismatch(pattern.parent, node)
        return Mismatch(pattern.path, node, user, others=(pattern.parent,))

    def _used_outside(self, pattern: DominatorPattern, root: Expr) -> Mismatch:
        """A mismatch of a whole dominator, whose paths all lead to parents: with the values that
        are used outside, if there is one parent."""
        parents: set[Expr] = set()

        def is_parent(source: Expr) -> bool:
            if self.matches(pattern.parent, source):
                parents.add(source)
            return source in parents

        inside = [root]

        def is_on_path(source: Expr) -> bool:
            inside.append(source)
            return True

        self.graph.off_path(root, is_parent, is_on_path)
        if len(parents) > 1:
            return Mismatch(pattern, root)
        inside += parents
        outside = tuple(
            (node, user)
            for node in inside[1:]
            for user in self.graph.outputs[node]
            if user not in inside
        )
        return Mismatch(pattern, root, outside=outside, inside=frozenset(inside))

    def _call(self, pattern: CallPattern, expr: Expr, depth: int) -> PartialMatch:
        if not isinstance(expr, Call):
            return stopped(pattern, expr)
        is_named = isinstance(pattern.op, ExprPattern) and pattern.op.expr is expr.op
        callee = ANYTHING if is_named else self._fit(pattern.op, expr.op, depth)
        if callee.stops:
            if self.matches(pattern, expr):  # it matches after re-association
                size = size_of(pattern)
                return PartialMatch(size, size, (), frozenset({expr}))
            last = callee.stops[0].pattern
            if isinstance(last, AttrPattern) and callee.matched:  # the operator's own attribute
                return PartialMatch(callee.matched, size_of(pattern), (Mismatch(last, expr),))
            return stopped(pattern, expr)
        if pattern.args is None:
            return PartialMatch(1, 1, (), frozenset({expr}))
        args = self.operands(pattern, expr)
        if args is None:
            return PartialMatch(1, size_of(pattern), (Mismatch(pattern, expr),), frozenset({expr}))
        found = self._parts(args, expr.args, expr, depth)
        if found.stops and pattern.op_name() in COMMUTATIVE:
            swapped = self._parts(args[::-1], expr.args, expr, depth)
            found = max(found, swapped, key=lambda f: f.rank)
        return found

    def _parts(
        self,
        patterns: Sequence[DFPattern],
        exprs: Sequence[Expr],
        node: Expr,
        depth: int,
        step: str = ".args[{}]",
    ) -> PartialMatch:
        """The match of a node's operands. step: format of the path from the node to its n-th
        operand."""
        matched, total, beyond = 1, 1, 0
        stops: list[Mismatch] = []
        covered: set[Expr] = {node}
        values: set[tuple[DFPattern, Expr]] = set()
        for n, (pattern, expr) in enumerate(zip(patterns, exprs, strict=True)):
            fit = self._fit(pattern, expr, depth)
            matched, total, beyond = matched + fit.matched, total + fit.total, beyond + fit.beyond
            stops += [used_by(stop, expr, node, step.format(n)) for stop in fit.stops]
            covered |= fit.covered
            values |= fit.values
        inside = frozenset(covered)
        return PartialMatch(matched, total, tuple(stops), inside, beyond, frozenset(values))


def bound_value(node: Expr, graph: IndexedGraph) -> Expr | None:
    """The value that a let binds to a variable; None for any other node."""
    if not isinstance(node, Var):
        return None
    return next(iter(graph.inputs.get(node, ())), None)
