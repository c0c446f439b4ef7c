"""`Lifetimes`: when a value of an evaluation is used for the last time and can be released.

A node belongs to the scope that reaches it first. If several scopes reach a node (a free variable
of a function, an expression shared by both branches of an `if`), its value is kept as long as its
frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from byoc_lab.relay.ir.adt import Match
from byoc_lab.relay.ir.expr import Expr, Function, If

Parts = Callable[[Expr], "tuple[Expr, ...]"]


class Lifetimes:
    """Counts how often each node is used within its scope; the counts of a scope are computed once.

    parts: the nodes that are evaluated before a node in its scope.
    """

    def __init__(self, parts: Parts):
        self.parts = parts
        self.owners: dict[Expr, Expr] = {}
        self.uses: dict[Expr, dict[Expr, int]] = {}  # key: root of the scope

    def of(self, root: Expr) -> dict[Expr, int]:
        """The number of uses of each node in the scope of `root`: a new dictionary to count down.

        A node that is absent is never released.
        """
        if root not in self.uses:
            self._count(root)
        return dict(self.uses[root])

    def _count(self, root: Expr) -> None:
        waiting: deque[Expr] = deque([root])
        while waiting:
            scope = waiting.popleft()
            if scope in self.uses:
                continue
            uses = self.uses[scope] = {scope: 1}  # the requester counts as one use
            todo, foreign = [scope], set()
            while todo:
                node = todo.pop()
                owner = self.owners.setdefault(node, scope)
                if owner is not scope:
                    foreign.add(node)
                    self.uses[owner].pop(node, None)
                    continue
                waiting.extend(_scopes(node))
                for part in self.parts(node):
                    if part not in uses:
                        todo.append(part)
                    uses[part] = uses.get(part, 0) + 1
            for node in foreign:
                del uses[node]


def _scopes(node: Expr) -> Iterator[Expr]:
    """The roots of the scopes in a node."""
    if isinstance(node, Function):
        yield node.body
    elif isinstance(node, If):
        yield node.true_branch
        yield node.false_branch
    elif isinstance(node, Match):
        yield from (clause.rhs for clause in node.clauses)


def count_down(uses: dict[Expr, int], nodes: tuple[Any, ...], values: dict[Expr, Any]) -> None:
    """Decrement the use count of each of `nodes`, and drop the values of nodes without remaining
    uses."""
    for node in nodes:
        left = uses.get(node, 0)
        if left == 1:
            values.pop(node, None)
        if left:
            uses[node] = left - 1
