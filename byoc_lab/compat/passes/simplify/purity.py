"""Whether evaluating an expression has side effects.

Reading and writing references and calling stateful operators or unknown functions are effects;
creating a closure is not an effect. A recursive function has an effect only if something other than
its recursion has an effect: possible non-termination does not count.

Source: the purity analysis of TVM 0.16 (src/relay/transforms/dead_code.cc). TVM treats every
recursive function as pure, and calls nested deeper than 25 as effects.
"""

from __future__ import annotations

from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Op, RefRead, RefWrite, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, post_order_new


class Purity:
    """Computes the purity of expressions of one module; each is examined once."""

    def __init__(self, mod: IRModule):
        self.mod = mod
        nodes = list(post_order(*mod.functions.values()))
        self._value_of = {n.var: n.value for n in nodes if isinstance(n, Let)}
        self._with_effects = self._find([n for n in nodes if isinstance(n, Function)])
        self._pure: dict[Expr, bool] = {}

    def of(self, expr: Expr) -> bool:
        """Whether evaluating `expr` has no effect."""
        for node in post_order_new(expr, self._pure, _is_evaluated):
            below = node.parts() if _is_evaluated(node) else ()
            self._pure[node] = all(self._pure[p] for p in below) and not self._has_effect(node)
        return self._pure[expr]

    def _find(self, functions: list[Function]) -> set[Function]:
        """The functions whose calls have effects, directly or through their callees."""
        callers: dict[Function, list[Function]] = {}
        todo: list[Function] = []
        for func in functions:
            for node in post_order(func.body, enter=_is_evaluated):
                callee = self._callee(node) if isinstance(node, Call) else None
                if isinstance(callee, Function):
                    callers.setdefault(callee, []).append(func)
                elif _does_something(node, callee):
                    todo.append(func)
            if func.attrs.get("Extern"):
                todo.append(func)
        found: set[Function] = set()
        while todo:
            func = todo.pop()
            if func not in found:
                found.add(func)
                todo += callers.get(func, ())
        return found

    def _has_effect(self, node: Expr) -> bool:
        callee = self._callee(node) if isinstance(node, Call) else None
        if isinstance(callee, Function):
            return callee in self._with_effects
        return _does_something(node, callee)

    def _callee(self, call: Call) -> Expr:
        """The callee, if it is known."""
        callee, seen = call.op, set()
        while isinstance(callee, Var) and callee in self._value_of and callee not in seen:
            seen.add(callee)
            callee = self._value_of[callee]
        if isinstance(callee, GlobalVar) and callee in self.mod:
            return self.mod.functions[self.mod.get_global_var(callee)]
        return callee


def _is_evaluated(node: Expr) -> bool:
    """Whether evaluating a node also evaluates its children."""
    return not isinstance(node, Function)


def _does_something(node: Expr, callee: Expr | None) -> bool:
    """Whether a node itself has an effect; its callees do not count."""
    if isinstance(node, Call):
        stateful = isinstance(callee, Op) and bool(callee.get_attr("TOpIsStateful"))
        return stateful or not isinstance(callee, (Op, Constructor))
    return isinstance(node, (RefRead, RefWrite))
