"""Does evaluating an expression do anything besides giving its value?

Source: the purity analysis of TVM 0.16, as behaviour: reading and writing references and
calling stateful operators or unknown functions are effects; making a closure is none.
"""

from __future__ import annotations

from byoc_lab.relay.adt import Constructor
from byoc_lab.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    Let,
    Op,
    RefRead,
    RefWrite,
    Var,
)
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.visit import post_order, post_order_new

_DEEPEST_CALL = 25  # beyond it, or on recursion, a call counts as one with effects


class Purity:
    """Answers for one module; each function is examined once."""

    def __init__(self, mod: IRModule):
        self.mod = mod
        self._pure: dict[Expr, bool] = {}
        self._value_of: dict[Var, Expr] = {}
        for func in mod.functions.values():
            self._value_of.update({n.var: n.value for n in post_order(func) if isinstance(n, Let)})

    def of(self, expr: Expr) -> bool:
        """Whether evaluating `expr` has no effect."""
        return self._evaluate(expr, 0)

    def _evaluate(self, expr: Expr, depth: int) -> bool:
        for node in post_order_new(expr, self._pure, None):
            self._pure[node] = self._own(node, depth)
        return self._pure[expr]

    def _own(self, node: Expr, depth: int) -> bool:
        if isinstance(node, (RefRead, RefWrite)):
            return False
        if isinstance(node, Function):
            return True
        below = all(self._pure[p] for p in node.parts())
        return below and (not isinstance(node, Call) or self._calling(node.op, depth))

    def _calling(self, callee: Expr, depth: int) -> bool:
        seen: set[Expr] = set()
        while isinstance(callee, Var) and callee in self._value_of and callee not in seen:
            seen.add(callee)
            callee = self._value_of[callee]
        if isinstance(callee, Op):
            return not callee.get_attr("TOpIsStateful")
        if isinstance(callee, Constructor):
            return True
        if isinstance(callee, Function):
            return self._evaluate(callee.body, depth + 1) if depth < _DEEPEST_CALL else False
        if isinstance(callee, GlobalVar) and callee in self.mod:
            func = self.mod[callee]
            if depth >= _DEEPEST_CALL or func.attrs.get("Extern"):
                return False
            return self._evaluate(func.body, depth + 1)
        return False
