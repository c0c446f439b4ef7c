"""ToGraphNormalForm: every let goes, and its value stands wherever its variable stood."""

from __future__ import annotations

from typing import Any

from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Expr, Function, Let, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class ToGraphNormalForm(FunctionPass):
    """Every let goes, and its value stands wherever its variable stood.

    `let %a = abs(%x); add(%a, %a)` -> `%0 = abs(%x); add(%0, %0)`: the value is shared, not copied.
    A recursive let of a function stays. Effects are not respected, as in TVM: a `ref_write` bound
    to an unused variable is gone.

    Source: src/relay/transforms/to_graph_normal_form.cc of TVM 0.16.
    """

    opt_level = 1

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        lets = [n for n in post_order(func) if isinstance(n, Let) and not is_recursive(n)]
        value_of = {let.var: let.value for let in lets}
        memo: dict[Expr, Expr] = {}

        def use_value(pre: Any, post: Any) -> Expr:
            # A let's value comes before its variable in evaluation order, so it is there.
            return memo[value_of[pre]] if isinstance(pre, Var) and pre in value_of else post

        def drop_let(pre: Any, post: Any) -> Expr | None:
            return post.body if isinstance(pre, Let) and pre.var in value_of else None

        rules = [RewriteRule("drop let", "its value stands where its variable stood", drop_let)]
        return rewrite(func, rules, memo=memo, prepare=use_value)


def is_recursive(let: Let) -> bool:
    """Whether a let binds a function that calls itself."""
    return isinstance(let.value, Function) and any(n is let.var for n in post_order(let.value))
