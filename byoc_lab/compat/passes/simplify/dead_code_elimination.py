"""DeadCodeElimination: removes unused lets whose value has no side effect."""

from __future__ import annotations

from collections import Counter
from typing import Any

from byoc_lab.compat.passes.simplify.purity import Purity
from byoc_lab.passes.framework.passes import ModulePass, PassContext, each_function
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Expr, Function, Let, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module


class DeadCodeElimination(ModulePass):
    """Removes lets whose variable is not used, if their value has no side effect.

    `let %a = abs(%x); %x` -> `%x`. With `inline_once`, a variable that is used once is replaced by
    its value. Uses inside removed values do not count; a use inside a nested function counts twice,
    so that nothing is moved into a closure. Dead code without a let cannot     exist.

    inline_once: also replace variables that are used once. ignore_impurity: treat every value as
    free of side effects.

    Source: src/relay/transforms/dead_code.cc of TVM 0.16.
    """

    opt_level = 1
    required = ("InferType",)

    def __init__(self, inline_once: bool = False, ignore_impurity: bool = False):
        self.inline_once = inline_once
        self.ignore_impurity = ignore_impurity

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        purity = Purity(mod)
        return infer_module(each_function(mod, lambda func, out: self._eliminate(func, purity)))

    def _eliminate(self, func: Function, purity: Purity) -> Function:
        lets = {n.var: n for n in post_order(func) if isinstance(n, Let)}
        pure = {v: self.ignore_impurity or purity.of(let.value) for v, let in lets.items()}
        uses = _uses(func, lets, pure)
        memo: dict[Expr, Expr] = {}

        def inlined(v: Any) -> bool:
            return self.inline_once and v in lets and pure[v] and uses.get(v) == 1

        def use_value(pre: Any, post: Any) -> Expr:
            return memo[lets[pre].value] if isinstance(pre, Var) and inlined(pre) else post

        def drop_let(pre: Any, post: Any) -> Expr | None:
            if not isinstance(pre, Let):
                return None
            unused = pure[pre.var] and not uses.get(pre.var)
            return post.body if unused or inlined(pre.var) else None

        rules = [RewriteRule("drop let", "the variable is not used", drop_let)]
        return rewrite(func, rules, memo=memo, prepare=use_value)


def _uses(func: Function, lets: dict[Var, Let], pure: dict[Var, bool]) -> dict[Var, int]:
    """The number of needed uses of each let-bound variable.

    A value is visited at the first use of its variable: if that use is in a nested function, all
    uses of outer variables in the value count as uses in that function. Uses inside a shared value
    count twice, as in TVM, which visits a node up to two times.
    """
    uses: dict[Var, int] = {}
    home: dict[Var, int] = {}  # nesting depth of functions at the variable's let
    seen: Counter[Expr] = Counter()
    todo: list[tuple[Expr, int]] = [(func.body, 0)]
    while todo:
        node, level = todo.pop()
        if isinstance(node, Var):
            if node in lets:
                before = uses.get(node, 0)
                uses[node] = before + (2 if home.get(node, level) < level else 1)
                if before == 0 and pure[node]:
                    todo.append((lets[node].value, level))
            continue
        if seen[node] == 2:
            continue
        seen[node] += 1
        if isinstance(node, Let):
            home[node.var] = level
            todo.append((node.body, level))
            if not pure[node.var]:
                todo.append((node.value, level))
        elif isinstance(node, Function):
            todo.append((node.body, level + 1))
        else:
            todo += [(p, level) for p in reversed(node.parts())]
    return uses
