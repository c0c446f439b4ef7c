"""Partial matches of patterns: how much of a pattern fits an expression, and the mismatches.

The matcher of `relay.patterns` answers yes or no. For a "no" this module walks pattern and
expression side by side, as the matcher does, and keeps the place where they part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from byoc_lab.errors import PassError, counted
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Call, Expr, Op, Tuple, TupleGetItem, Var, describe
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.relay.patterns.below import (
    MAX_DEPTH,
    called_operators,
    depth_of,
    levels_below,
    post_order_patterns,
    remembered,
    root_operators,
    size_of,
)
from byoc_lab.relay.patterns.grouping import group_at
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.matcher import COMMUTATIVE, Matcher
from byoc_lab.relay.patterns.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DominatorPattern,
    ExprPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from byoc_lab.relay.patterns.text import short_text

NAMES = re.compile(r"[\w.]+((, | or )[\w.]+)*")
"""A list of names of operators, in words."""
Conditions = (AttrPattern, TypePattern, DataTypePattern, ShapePattern)


@dataclass(frozen=True, eq=False, slots=True)
class Stop:
    """A mismatch: `found` is not the expression that `pattern` expects.

    user: the expression with `found` as an operand, which fits. below: the operand that fits, where
    `found` uses it: a function, if the operand is its result. others: patterns that would do as
    well. reused: `pattern` stands for several values.
    """

    pattern: DFPattern
    found: Expr
    user: Expr | None = None
    below: Expr | None = None
    reused: bool = False
    others: tuple[DFPattern, ...] = ()

    @property
    def expected(self) -> str:
        """The pattern's requirement for this expression, in words."""
        if self.reused:
            return (
                f"one value in all places of one pattern ({expectation(self.pattern)}; write it "
                f"again for each value)"
            )
        wanted = listed(map(expectation, (self.pattern, *self.others)))
        if isinstance(self.pattern, CallPattern) and isinstance(self.found, Call):
            operands, there = self.pattern.args, len(self.found.args)
            names = called_operators(self.pattern)
            same_op = names is None or self.found.op_name in names
            if operands is not None and same_op and len(operands) != there:
                wanted += f" with {counted(len(operands), 'operand')} (not {there})"
        return wanted


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """A full or partial match of a pattern with an expression.

    matched, total: the number of operators, constants, variables and conditions of the pattern that
    hold, and of all that it has. stops: where it fails; none if all of it matches. covered: of a
    match the nodes that it would move; else what the operators, constants and variables matched.
    beyond: the number of parts that hold on the other side of a let, which no match crosses.
    """

    matched: int
    total: int
    stops: tuple[Stop, ...] = ()
    covered: frozenset[Expr] = frozenset()
    beyond: int = 0

    @property
    def rank(self) -> tuple[bool, float, int]:
        """The larger, the nearer."""
        near = self.matched + self.beyond
        return not self.stops, near / max(self.total, 1), near

    @property
    def needed(self) -> int:
        """The number of parts that a match has: more than fit as long as one does not. Optional
        parts that fit are among them."""
        return max(self.total, self.matched + 1) if self.stops else self.total

    @printable
    def __str__(self) -> str:
        return f"{self.matched} of {self.needed}"


ANYTHING = Fit(0, 0)
"""How far a wildcard matches any expression."""


@remembered
def expectation(pattern: DFPattern) -> str:
    """Describe in words the expressions that a pattern accepts at its root."""
    if isinstance(pattern, AttrPattern):
        wanted = ", ".join(f"{k}={v!r}" for k, v in pattern.attrs.items())
        return f"{expectation(pattern.pattern)} with {wanted}"
    if isinstance(pattern, DataTypePattern):
        return f"{expectation(pattern.pattern)} of dtype {pattern.dtype}"
    if isinstance(pattern, ShapePattern):
        return f"{expectation(pattern.pattern)} of shape {pattern.shape}"
    if isinstance(pattern, TypePattern):
        return f"{expectation(pattern.pattern)} of type {pattern.type}"
    if isinstance(pattern, AltPattern):
        return listed((expectation(pattern.left), expectation(pattern.right)))
    if isinstance(pattern, ConstantPattern):
        return "a constant"
    if isinstance(pattern, VarPattern):
        return f"the variable %{pattern.name}" if pattern.name else "a variable"
    if isinstance(pattern, ExprPattern) and not isinstance(pattern.expr, Op):
        return describe(pattern.expr)
    if isinstance(pattern, TuplePattern):
        return "a tuple" if pattern.fields is None else f"a tuple of {len(pattern.fields)}"
    if isinstance(pattern, TupleGetItemPattern):
        which = "any field" if pattern.index is None else f"field {pattern.index}"
        return f"{which} of {expectation(pattern.tuple)}"
    if isinstance(pattern, WildcardPattern):
        return expectation(pattern.pattern) if pattern.pattern else "anything"
    if isinstance(pattern, DominatorPattern):
        child, path, parent = map(expectation, (pattern.child, pattern.path, pattern.parent))
        return f"{child} whose operands all come from one {parent}, over {path} alone,"
    if isinstance(pattern, CallPattern):
        return callee_in_words(pattern)
    return short_text(pattern) or "another expression"


def listed(words: Iterable[str]) -> str:
    """Such as "nn.conv1d, nn.conv2d or nn.dense"; each of them may be such a list of names."""
    parts = (re.split(", | or ", w) if NAMES.fullmatch(w) else [w] for w in words)
    different = list(dict.fromkeys(w for part in parts for w in part))
    if len(different) < 2:
        return "".join(different)
    return f"{', '.join(different[:-1])} or {different[-1]}"


def callee_in_words(pattern: CallPattern) -> str:
    """The operators that a pattern of a call accepts, such as "add or nn.bias_add"."""
    names = called_operators(pattern)
    if names is None:
        return "a call of any operator"
    return listed(sorted(names)) or "a call of something other than an operator"


def operators_of(pattern: DFPattern) -> frozenset[str] | None:
    """The names of the operators that a pattern calls, anywhere; None if it accepts any."""
    found: set[str] = set()
    for part in post_order_patterns(pattern):
        names = called_operators(part)
        if names is None:
            return None
        found |= names
    return frozenset(found)


class NearMatcher:
    """Matches one pattern partially with expressions of one graph; results are kept and shared."""

    def __init__(self, pattern: DFPattern, graph: IndexedGraph):
        self.pattern = pattern
        self.graph = graph
        self._known: dict[tuple[DFPattern, Expr], Fit] = {}
        self._open: set[tuple[DFPattern, Expr]] = set()  # not known yet: a pattern in itself
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
        """For each part, the fewest levels of users between it and the whole."""
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

    def part(self, part: DFPattern, expr: Expr) -> Fit:
        """The match of one part of the pattern with an expression."""
        return self._fit(part, expr, 0)

    def fit(self, root: Expr) -> Fit:
        """The match of the pattern with `root`; it has no stops exactly if the matcher accepts
        `root`."""
        found = self._fit(self.pattern, root, 0)
        try:
            group = group_at(self.pattern, root, self.graph)
        except PassError:  # a match nested too deeply for the matcher does not count
            group = None
        if group is not None:
            return Fit(found.total, found.total, (), frozenset(group.nodes))
        if found.stops:
            return found
        return Fit(found.matched, found.total + 1, (self._shared(root),), found.covered)

    def _shared(self, root: Expr) -> Stop:
        """The mismatch if each part fits and the whole does not: one pattern object is used for two
        values."""
        places = Counter(c for p in self.parts for c in p.children())
        reused = next((p for p, count in places.items() if count > 1), self.pattern)
        return Stop(reused, root, reused=True)

    def _fit(self, pattern: DFPattern, expr: Expr, depth: int) -> Fit:
        if isinstance(pattern, WildcardPattern) and pattern.pattern is None:
            return ANYTHING
        key = (pattern, expr)
        known = self._known.get(key)
        if known is not None:
            return known
        if key in self._open:
            return _stopped(pattern, expr)
        if depth < MAX_DEPTH:
            self._open.add(key)
            found = self._walk(pattern, expr, depth + 1)
            value = bound_value(expr, self.graph) if found.stops else None
            if value is not None:
                inner = self._fit(pattern, value, depth + 1)
                beyond = inner.matched + inner.beyond
                found = replace(found, covered=inner.covered, beyond=beyond)
            self._open.discard(key)
        else:
            found = _stopped(pattern, expr)
        self._known[key] = found
        return found

    def _walk(self, pattern: DFPattern, expr: Expr, depth: int) -> Fit:
        if isinstance(pattern, WildcardPattern):
            assert pattern.pattern is not None  # one that accepts anything is not walked
            return self._fit(pattern.pattern, expr, depth)
        if isinstance(pattern, AltPattern):
            sides = [self._fit(p, expr, depth) for p in (pattern.left, pattern.right)]
            return max(sides, key=lambda f: f.rank)
        if isinstance(pattern, Conditions):
            inner = self._fit(pattern.pattern, expr, depth)
            if inner.stops:
                return replace(inner, total=inner.total + 1)
            holds = pattern.holds(Matcher(self.graph), expr)
            stops = () if holds else (Stop(pattern, expr),)
            return Fit(inner.matched + holds, inner.total + 1, stops, inner.covered)
        if isinstance(pattern, CallPattern):
            return self._call(pattern, expr, depth)
        if isinstance(pattern, DominatorPattern):
            return self._dominator(pattern, expr, depth)
        if isinstance(pattern, TuplePattern) and pattern.fields is not None:
            if isinstance(expr, Tuple) and len(expr.fields) == len(pattern.fields):
                return self._parts(pattern.fields, expr.fields, expr, depth)
        elif isinstance(pattern, TupleGetItemPattern):
            if isinstance(expr, TupleGetItem):
                found = self._parts([pattern.tuple], [expr.tuple_value], expr, depth)
                if pattern.index in (None, expr.index):
                    return found
                further = (Stop(pattern, expr), *found.stops)
                return replace(found, matched=found.matched - 1, stops=further)
        elif Matcher(self.graph).match(pattern, expr):
            return Fit(1, 1, (), frozenset({expr}))
        return _stopped(pattern, expr)

    def _dominator(self, pattern: DominatorPattern, expr: Expr, depth: int) -> Fit:
        total = size_of(pattern)
        child = self._fit(pattern.child, expr, depth)
        if child.stops:
            return replace(child, total=total)
        if Matcher(self.graph).match(pattern, expr):
            return Fit(total, total, (), frozenset({expr}))
        return Fit(child.matched, total, (Stop(pattern, expr),), child.covered)

    def _call(self, pattern: CallPattern, expr: Expr, depth: int) -> Fit:
        roots = root_operators(pattern)
        if not isinstance(expr, Call) or (roots is not None and expr.op_name not in roots):
            return _stopped(pattern, expr)
        is_named = isinstance(pattern.op, ExprPattern) and pattern.op.expr is expr.op
        callee = ANYTHING if is_named else self._fit(pattern.op, expr.op, depth)
        if callee.stops:
            if Matcher(self.graph).match(pattern, expr):  # it was re-associated
                size = size_of(pattern)
                return Fit(size, size, (), frozenset({expr}))
            last = callee.stops[0].pattern
            if isinstance(last, AttrPattern) and callee.matched:  # the operator's own attribute
                return Fit(callee.matched, size_of(pattern), (Stop(last, expr),))
            return _stopped(pattern, expr)
        if pattern.args is None:
            return Fit(1, 1, (), frozenset({expr}))
        if len(pattern.args) != len(expr.args):
            return Fit(1, size_of(pattern), (Stop(pattern, expr),), frozenset({expr}))
        found = self._parts(pattern.args, expr.args, expr, depth)
        if found.stops and pattern.op_name() in COMMUTATIVE:
            swapped = self._parts(pattern.args[::-1], expr.args, expr, depth)
            found = max(found, swapped, key=lambda f: f.rank)
        return found

    def _parts(
        self, patterns: Sequence[DFPattern], exprs: Sequence[Expr], node: Expr, depth: int
    ) -> Fit:
        matched, total, beyond = 1, 1, 0
        stops: list[Stop] = []
        covered: set[Expr] = {node}
        for pattern, expr in zip(patterns, exprs, strict=True):
            fit = self._fit(pattern, expr, depth)
            matched, total, beyond = matched + fit.matched, total + fit.total, beyond + fit.beyond
            stops += [_used(stop, expr, node) for stop in fit.stops]
            covered |= fit.covered
        return Fit(matched, total, tuple(stops), frozenset(covered), beyond)


def bound_value(node: Expr, graph: IndexedGraph) -> Expr | None:
    """The value that a let binds to a variable; None for any other node."""
    if not isinstance(node, Var):
        return None
    return next(iter(graph.inputs.get(node, ())), None)


def _used(stop: Stop, operand: Expr, user: Expr) -> Stop:
    """A stop at an operand itself, with its user."""
    if stop.found is not operand or stop.user is not None:
        return stop
    return Stop(stop.pattern, operand, user, stop.below, stop.reused, stop.others)


def _stopped(pattern: DFPattern, expr: Expr) -> Fit:
    return Fit(0, size_of(pattern), (Stop(pattern, expr),))
