"""What lies below a pattern: the operators that a match can call, and all its sub-patterns."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from byoc_lab.relay.patterns.patterns import DFPattern

T = TypeVar("T")


def remembered(function: Callable[[DFPattern], T]) -> Callable[[DFPattern], T]:
    """A function of a pattern, computed once for each pattern as long as that exists."""
    results: WeakKeyDictionary[DFPattern, T] = WeakKeyDictionary()

    @wraps(function)
    def remembering(pattern: DFPattern) -> T:
        if pattern not in results:
            results[pattern] = function(pattern)
        return results[pattern]

    return remembering


@remembered
def root_operators(pattern: DFPattern) -> frozenset[str] | None:
    """The operators that a call matching `pattern` can call; None for no restriction."""
    found: set[str] = set()
    todo, seen = [pattern], {pattern}
    while todo:
        p = todo.pop()
        below = p.same_root()
        names = p.root_ops()
        if names is None and not below:
            return None
        found |= names or set()
        todo += [q for q in below if q not in seen]
        seen.update(below)
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
