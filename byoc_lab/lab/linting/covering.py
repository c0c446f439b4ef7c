"""Decides by structure whether one pattern always matches some of the nodes that another pattern
needs."""

from __future__ import annotations

from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.relay.patterns.below import root_operators
from byoc_lab.relay.patterns.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    ExprPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)

MAX_DEPTH = 40
"""Maximum depth of pattern comparisons; deeper patterns give "not known"."""


def always_takes_part(first: DFPattern, second: DFPattern) -> bool:
    """Whether every match of `second` provably contains a match of `first`.

    False may also mean "not known": for dominators, and patterns of functions or control flow.
    """
    if not isinstance(_plain(first), (CallPattern, AltPattern)):
        return False  # `first` moves no operator into a composite
    # A part that accepts any callee may also match the call of the composite that `first` makes.
    parts = (p for p in _required(second) if root_operators(p) is not None)
    return any(covers(first, part) for part in parts)


def covers(wide: DFPattern, narrow: DFPattern, depth: int = 0) -> bool:
    """Whether `wide` provably matches everything that `narrow` matches."""
    if wide is narrow:
        return True
    if depth > MAX_DEPTH:
        return False
    deeper = depth + 1
    if isinstance(wide, WildcardPattern):
        return wide.pattern is None or covers(wide.pattern, narrow, deeper)
    if isinstance(narrow, AltPattern):
        return covers(wide, narrow.left, deeper) and covers(wide, narrow.right, deeper)
    if isinstance(wide, AltPattern):
        # The first alternative that matches is taken, and it may need more nodes than `narrow`.
        left, right = wide.left, wide.right
        return covers(left, narrow, deeper) or (
            _excludes(left, narrow) and covers(right, narrow, deeper)
        )
    if isinstance(wide, AttrPattern):
        conditions, inner = _attributes(narrow)
        return all(conditions.get(k) == v for k, v in wide.attrs.items()) and covers(
            wide.pattern, inner, deeper
        )
    if isinstance(narrow, (AttrPattern, TypePattern, DataTypePattern, ShapePattern)):
        return covers(wide, narrow.pattern, deeper)
    if type(wide) is not type(narrow):
        return False
    return _same_kind(wide, narrow, deeper)


def _excludes(one: DFPattern, other: DFPattern) -> bool:
    """Whether two patterns provably never match the same expression, because of their operators."""
    if isinstance(one, ExprPattern) and isinstance(other, ExprPattern):
        return not structural_equal(one.expr, other.expr)
    a, b = root_operators(one), root_operators(other)
    return a is not None and b is not None and a.isdisjoint(b)


def _same_kind(wide: DFPattern, narrow: DFPattern, depth: int) -> bool:
    if isinstance(wide, CallPattern) and isinstance(narrow, CallPattern):
        if not covers(wide.op, narrow.op, depth):
            return False
        if wide.args is None:
            return True
        if narrow.args is None or len(wide.args) != len(narrow.args):
            return False
        return all(covers(a, b, depth) for a, b in zip(wide.args, narrow.args, strict=True))
    if isinstance(wide, ExprPattern) and isinstance(narrow, ExprPattern):
        return structural_equal(wide.expr, narrow.expr)
    if isinstance(wide, VarPattern) and isinstance(narrow, VarPattern):
        return not wide.name or wide.name == narrow.name
    if isinstance(wide, TuplePattern) and isinstance(narrow, TuplePattern):
        if wide.fields is None:
            return True
        if narrow.fields is None or len(wide.fields) != len(narrow.fields):
            return False
        return all(covers(a, b, depth) for a, b in zip(wide.fields, narrow.fields, strict=True))
    if isinstance(wide, TupleGetItemPattern) and isinstance(narrow, TupleGetItemPattern):
        return wide.index in (None, narrow.index) and covers(wide.tuple, narrow.tuple, depth)
    return isinstance(wide, ConstantPattern)


def _required(pattern: DFPattern) -> list[DFPattern]:
    """The parts of a pattern that every match has; alternatives are left out."""
    found: list[DFPattern] = []
    todo, seen = [pattern], {pattern}
    while todo:
        part = todo.pop()
        found.append(part)
        if not isinstance(part, AltPattern):
            todo += [c for c in part.children() if c not in seen]
            seen.update(part.children())
    return found


def _attributes(pattern: DFPattern) -> tuple[dict[str, object], DFPattern]:
    """The attributes that a pattern requires at its root, and the pattern without them."""
    found: dict[str, object] = {}
    while isinstance(pattern, AttrPattern):
        found.update(pattern.attrs)
        pattern = pattern.pattern
    return found, pattern


def _plain(pattern: DFPattern) -> DFPattern:
    while isinstance(pattern, (AttrPattern, TypePattern, DataTypePattern, ShapePattern)):
        pattern = pattern.pattern
    return pattern
