"""What lies below a pattern: the operators that a match can call, and all its sub-patterns."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.patterns.patterns import (
    CallPattern,
    DFPattern,
    ExprPattern,
    WildcardPattern,
)

T = TypeVar("T")


def remembered(function: Callable[[DFPattern], T]) -> Callable[[DFPattern], T]:
    """A function of a pattern, computed once for each pattern as long as that exists."""
    results: WeakKeyDictionary[DFPattern, T] = WeakKeyDictionary()

    @wraps(function)
    def remembering(pattern: DFPattern) -> T:
        try:
            return results[pattern]
        except KeyError:
            return results.setdefault(pattern, function(pattern))

    return remembering


@remembered
def root_operators(pattern: DFPattern) -> frozenset[str] | None:
    """The operators that a call matching `pattern` can call; None for no restriction."""
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
    """The operators that a pattern of a call accepts, if it accepts nothing else."""
    below = post_order_patterns(pattern.op) if isinstance(pattern, CallPattern) else []
    leaves = [p for p in below if not p.children()]
    if all(isinstance(p, ExprPattern) and isinstance(p.expr, Op) for p in leaves):
        return called_operators(pattern) or None
    return None


@remembered
def called_operators(pattern: DFPattern) -> frozenset[str] | None:
    """The names of the operators that a pattern of a call accepts as the callee, alternatives and
    conditions included: empty for a call of something else, None for any operator."""
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
