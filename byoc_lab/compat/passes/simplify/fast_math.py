"""FastMath: replaces exp, tanh, erf and softmax by the approximations that TVM computes faster."""

from __future__ import annotations

from typing import Any

from byoc_lab.compat.op.definitions.fast_math import APPROXIMATED
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule


class FastMath(FunctionPass):
    """Replaces exp, tanh, erf and softmax by the approximations that TVM computes faster.

    byoc_lab evaluates both identically; only the names matter, to back ends.

    Source: src/relay/transforms/fast_math.cc of TVM 0.16.
    """

    opt_level = 4
    required = ("InferType",)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, [approximate])


@rule("approximate", "an approximation is faster")
def approximate(pre: Any, post: Any) -> Expr | None:
    if not isinstance(post, Call) or post.op_name not in APPROXIMATED:
        return None
    return Call(Op.get(APPROXIMATED[post.op_name]), post.args, post.attrs, span=post.span)
