"""Node matching: finds the copy of a node in a module.

A pass reports the nodes it creates; type inference afterwards copies them. A copy computes the same
value from the same variables and constants, so both get the same number in a bottom-up numbering
(global value numbering).
"""

from __future__ import annotations

from collections.abc import Hashable

from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Op, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order_new


class NodeMatcher:
    """`NodeMatcher(mod).find(node)`: the node of `mod` that computes the same value, or None."""

    def __init__(self, mod: IRModule | Expr):
        self._number: dict[Expr, int] = {}
        self._table: dict[Hashable, int] = {}
        self._node: dict[int, Expr] = {}
        for root in mod.functions.values() if isinstance(mod, IRModule) else (mod,):
            for node in self._numbered(root):
                self._node.setdefault(self._number[node], node)

    def find(self, node: Expr) -> Expr | None:
        self._numbered(node)
        return self._node.get(self._number[node])

    def _numbered(self, root: Expr) -> list[Expr]:
        """Number the new nodes at and below `root`; returns them in post-order."""
        new = []
        for node in post_order_new(root, self._number, None):
            self._number[node] = self._table.setdefault(self._key(node), len(self._table))
            new.append(node)
        return new

    def _key(self, node: Expr) -> Hashable:
        if isinstance(node, Var):
            return ("var", node.vid)
        if isinstance(node, Constant):
            return ("constant", id(node.data))
        if isinstance(node, (Op, GlobalVar)):
            return (type(node), getattr(node, "name", None))
        parts = tuple(self._number[p] for p in node.parts())
        own = node.attrs if isinstance(node, (Call, Function)) else None
        index = node.index if isinstance(node, TupleGetItem) else None
        return (type(node), own, index, parts)
