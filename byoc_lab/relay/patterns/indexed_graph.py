"""The graph that patterns are matched in: order, users, and dominators.

Source: `CreateIndexedGraph` of TVM 0.16 (src/relay/ir/indexed_graph.cc).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from byoc_lab.relay.ir.ancestor_tree import AncestorTree
from byoc_lab.relay.ir.expr import Call, Expr, Function, Let, Op
from byoc_lab.relay.ir.visit import post_order


class IndexedGraph:
    """An indexed expression. All properties are computed on first use."""

    def __init__(self, root: Expr):
        self.root = root

    @cached_property
    def nodes(self) -> list[Expr]:
        """Every node, operands before users."""
        return list(post_order(self.root))

    @cached_property
    def index(self) -> dict[Expr, int]:
        return {n: i for i, n in enumerate(self.nodes)}

    @cached_property
    def calls_of(self) -> dict[str, list[Expr]]:
        """The calls of each operator, in the order of `nodes`."""
        found: dict[str, list[Expr]] = {}
        for node in self.nodes:
            if isinstance(node, Call) and isinstance(node.op, Op):
                found.setdefault(node.op.name, []).append(node)
        return found

    @cached_property
    def partitioned(self) -> set[Expr]:
        """Functions created by earlier partitions, and all nodes inside them."""
        inside: set[Expr] = set()
        for node in self.nodes:
            if isinstance(node, Function) and "PartitionedFromPattern" in node.attrs:
                inside.update(post_order(node))
        return inside

    @cached_property
    def outputs(self) -> dict[Expr, list[Expr]]:
        """The users of a node's value. A let passes its value to its variable."""
        found: dict[Expr, list[Expr]] = {n: [] for n in self.nodes}
        for node in self.nodes:
            for part, user in _edges(node):
                found[part].append(user)
        return found

    @cached_property
    def inputs(self) -> dict[Expr, list[Expr]]:
        """The nodes whose value a node uses: the inverse of `outputs`."""
        found: dict[Expr, list[Expr]] = {n: [] for n in self.nodes}
        for node in self.nodes:
            for part, user in _edges(node):
                found[user].append(part)
        return found

    def off_path(
        self, root: Expr, is_parent: Callable[[Expr], bool], is_on_path: Callable[[Expr], bool]
    ) -> tuple[Expr, Expr | None] | None:
        """The first value on which `root` depends that is neither on the path nor a parent, with
        its user on the path. If the path ends at a value without inputs: that value, with None.
        None if all paths lead to parents."""
        todo, walked = [root], {root}
        while todo:
            node = todo.pop()
            callee = node.op if isinstance(node, Call) else None
            inputs = [i for i in self.inputs[node] if i is not callee]
            if not inputs:
                return node, None
            for source in inputs:
                if source in walked or is_parent(source):
                    continue
                if not is_on_path(source):
                    return source, node
                walked.add(source)
                todo.append(source)
        return None

    def dominates(self, root: Expr, node: Expr) -> bool:
        """Whether every path from `node` to the end of the graph goes through `root`."""
        return node in self._below[root]

    @cached_property
    def _below(self) -> dict[Expr, _Span]:
        """For each node, the nodes that it dominates, as a range of positions in a traversal of the
        dominator tree."""
        tree: AncestorTree[Expr] = AncestorTree()
        children: dict[Expr | None, list[Expr]] = {None: []}
        for node in reversed(self.nodes):
            # An output without a position yet is a recursive use in a let.
            above = tree.common([o for o in self.outputs[node] if o in tree])
            tree.add(node, above)
            children[node] = []
            children[above].append(node)
        first: dict[Expr, int] = {}
        spans: dict[Expr, _Span] = {}
        stack: list[tuple[Expr, bool]] = [(n, False) for n in children[None]]
        while stack:
            node, done = stack.pop()
            if done:
                spans[node] = _Span(first, first[node], len(first))
            else:
                first[node] = len(first)
                stack.append((node, True))
                stack += [(c, False) for c in children[node]]
        return spans


class _Span:
    """The set of nodes whose number is in a range."""

    __slots__ = ("end", "number", "start")

    def __init__(self, number: dict[Expr, int], start: int, end: int):
        self.number, self.start, self.end = number, start, end

    def __contains__(self, node: Expr) -> bool:
        return self.start <= self.number[node] < self.end


def _edges(node: Expr) -> list[tuple[Expr, Expr]]:
    if isinstance(node, Let):
        return [(node.value, node.var), (node.body, node)]
    if isinstance(node, Function):
        return [(node.body, node)]
    return [(part, node) for part in node.parts()]
