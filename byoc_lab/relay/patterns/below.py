"""Properties of patterns: the operators that a match can call, the sub-patterns, the size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import TypeVar
from weakref import ref

from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.patterns.foreign import NotPattern
from byoc_lab.relay.patterns.patterns import (
    AltPattern,
    CallPattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    TupleGetItemPattern,
    TuplePattern,
    WildcardPattern,
)

T = TypeVar("T")
USERS = (CallPattern, TuplePattern, TupleGetItemPattern)
"""The kinds of patterns whose expressions have operands."""
MAX_DEPTH = 60
"""The maximum depth of a walk over a pattern; a pattern that is redirected to itself has infinite
depth."""


def remembered(function: Callable[[DFPattern], T]) -> Callable[[DFPattern], T]:
    """A decorator for a function of a pattern: the result is cached as long as the pattern
    exists."""
    # By id, which is faster than a WeakKeyDictionary.
    results: dict[int, tuple[ref[DFPattern], T]] = {}

    @wraps(function)
    def remembering(pattern: DFPattern) -> T:
        key = id(pattern)
        if key not in results:
            results[key] = ref(pattern, lambda _: results.pop(key, None)), function(pattern)
        return results[key][1]

    return remembering


def alternatives(pattern: DFPattern) -> Iterator[DFPattern]:
    """The innermost parts of a pattern that apply to the same expression as the pattern."""
    todo, seen = [pattern], {pattern}
    while todo:
        part = todo.pop()
        below = [p for p in part.same_root() if p not in seen]
        seen.update(below)
        todo += reversed(below)
        if not part.same_root():
            yield part


@remembered
def root_operators(pattern: DFPattern) -> frozenset[str] | None:
    """The operators that a call matching `pattern` can call; None if any."""
    found: set[str] = set()
    todo, seen = [pattern], {pattern}
    while todo:
        p = todo.pop()
        below = p.same_root()
        names = p.root_ops() or _only_operators(p)
        if names is None and not below:
            return None
        found |= names or set()
        todo += [q for q in below if q not in seen]
        seen.update(below)
    return frozenset(found)


def _only_operators(pattern: DFPattern) -> frozenset[str] | None:
    """The operators that a pattern for a callee accepts; None if it also accepts other callees."""
    below = post_order_patterns(pattern.op) if isinstance(pattern, CallPattern) else []
    leaves = [p for p in below if not p.children()]
    if all(isinstance(p, ExprPattern) and isinstance(p.expr, Op) for p in leaves):
        return called_operators(pattern) or None
    return None


@remembered
def called_operators(pattern: DFPattern) -> frozenset[str] | None:
    """The names of the operators that a call pattern accepts as callee, including alternatives and
    conditions: empty if it accepts only other callees, None if it accepts any operator."""
    if not isinstance(pattern, CallPattern):
        return frozenset()
    found: set[str] = set()
    todo, seen = [pattern.op], {pattern.op}
    while todo:
        p = todo.pop()
        if isinstance(p, ExprPattern) and isinstance(p.expr, Op):
            found.add(p.expr.name)
        elif isinstance(p, WildcardPattern) and p.pattern is None:
            return None
        below = [q for q in p.same_root() if q not in seen]
        seen.update(below)
        todo += below
    return frozenset(found)


@remembered
def operators_of(pattern: DFPattern) -> frozenset[str] | None:
    """The names of the operators that a pattern calls, anywhere; None if it accepts any."""
    found: set[str] = set()
    for part in post_order_patterns(pattern):
        names = called_operators(part)
        if names is None:
            return None
        found |= names
    return frozenset(found)


def needed_operators(pattern: DFPattern) -> frozenset[str]:
    """The names of the operators that every match of a pattern calls."""
    needed: dict[DFPattern, frozenset[str]] = {}
    for part in post_order_patterns(pattern):
        below = [needed.get(child, frozenset()) for child in part.children()]
        if isinstance(part, AltPattern):
            needed[part] = below[0] & below[1]
        elif isinstance(part, NotPattern):
            needed[part] = frozenset()
        else:
            named = called_operators(part) or frozenset()
            needed[part] = frozenset().union(named if len(named) == 1 else (), *below)
    return needed[pattern]


def post_order_patterns(root: DFPattern) -> list[DFPattern]:
    """Every pattern below `root`, children first, each once."""
    seen: set[DFPattern] = set()
    found: list[DFPattern] = []
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            found.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(c, False) for c in reversed(node.children())]
    return found


def depth_of(pattern: DFPattern) -> int:
    """The number of levels of calls, tuples and projections, `MAX_DEPTH` at most, as for the path
    of a dominator."""
    depth: dict[DFPattern, int] = {}
    for p in post_order_patterns(pattern):
        own = int(isinstance(p, USERS))
        own = MAX_DEPTH if isinstance(p, DominatorPattern) else own
        depth[p] = own + max((depth.get(c, MAX_DEPTH) for c in p.children()), default=0)
    return min(depth[pattern], MAX_DEPTH)


@remembered
def levels_below(pattern: DFPattern) -> dict[DFPattern, int]:
    """For each part of a pattern, its smallest distance from the pattern's root, in levels of
    users."""
    levels: dict[DFPattern, int] = {}
    for p in reversed(post_order_patterns(pattern)):
        own = levels.setdefault(p, 0)
        for child in p.children():
            below = own + isinstance(p, USERS)
            levels[child] = min(levels.get(child, below), below)
    return levels


@remembered
def size_of(pattern: DFPattern) -> int:
    """The size of a pattern: the number of its operators, constants, variables and conditions.

    For alternatives, it is the size of the smaller one.
    """
    size: dict[DFPattern, int] = {}
    for p in post_order_patterns(pattern):
        below = [size.get(c, 0) for c in p.children()]
        if isinstance(p, AltPattern):
            size[p] = min(below)
        elif isinstance(p, CallPattern):
            size[p] = 1 + sum(below[1:])
        else:
            size[p] = sum(below) + (not isinstance(p, WildcardPattern))
    return size[pattern]
