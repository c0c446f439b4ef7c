"""What lies below a pattern: the operators that a match can call, and all its sub-patterns."""

from __future__ import annotations

from byoc_lab.relay.patterns.patterns import DFPattern


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
