"""`AncestorTree`: a tree that grows at its leaves and finds nearest common ancestors."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class AncestorTree(Generic[T]):
    """A tree that grows at its leaves and finds common ancestors in logarithmic time.

    None is the root. Each node stores its parent and one more distant ancestor (a jump); the jumps
    are chosen so that any ancestor is reached in O(log n) steps (Myers, "An applicative
    random-access stack", 1983).
    """

    def __init__(self) -> None:
        self._parent: dict[T | None, T | None] = {None: None}
        self._jump: dict[T | None, T | None] = {None: None}
        self._depth: dict[T | None, int] = {None: 0}

    def __contains__(self, node: T) -> bool:
        return node in self._depth

    def add(self, node: T, parent: T | None) -> None:
        jump, depth = self._jump, self._depth
        far = jump[parent]
        even = depth[parent] - depth[far] == depth[far] - depth[jump[far]]
        self._parent[node] = parent
        jump[node] = jump[far] if even else parent
        depth[node] = depth[parent] + 1

    def common(self, nodes: Iterable[T | None]) -> T | None:
        """The nearest common ancestor (or self) of `nodes`; None without nodes."""
        rest = iter(nodes)
        found = next(rest, None)
        for node in rest:
            found = self._common(found, node)
        return found

    def below(self, ancestor: T | None, node: T | None) -> T | None:
        """The child of `ancestor` that is `node` or above it; None if `node` is not below it."""
        depth = self._depth
        if depth[node] <= depth[ancestor]:
            return None
        child = self._lifted(node, depth[ancestor] + 1)
        return child if self._parent[child] is ancestor else None

    def _lifted(self, node: T | None, depth: int) -> T | None:
        """The ancestor (or self) of `node` at a depth."""
        while self._depth[node] > depth:
            far = self._jump[node]
            node = far if self._depth[far] >= depth else self._parent[node]
        return node

    def _common(self, a: T | None, b: T | None) -> T | None:
        parent, jump = self._parent, self._jump
        depth = min(self._depth[a], self._depth[b])
        a, b = self._lifted(a, depth), self._lifted(b, depth)
        while a is not b:  # nodes at equal depth have jumps of equal length
            a, b = (jump[a], jump[b]) if jump[a] is not jump[b] else (parent[a], parent[b])
        return a
