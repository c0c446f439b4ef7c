"""DefuseOps: replaces calls of inline functions by the functions' bodies."""

from __future__ import annotations

from typing import Any

from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import applied


class DefuseOps(FunctionPass):
    """Replaces calls of inline functions by the functions' bodies.

    `fn (%p) { nn.relu(%p) }(%x)` -> `nn.relu(%x)`, regardless of the function's attributes. Calls
    of global functions are unchanged. The reverse of fusing, and of MergeComposite.

    Source: src/relay/transforms/defuse_ops.cc of TVM 0.16 (which replaces parameters by name and
    refuses functions with two parameters of the same name; here parameters are distinguished by
    identity).
    """

    opt_level = 3
    required = ("InferType",)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, [inline])


@rule("inline", "the callee is an inline function")
def inline(pre: Any, post: Any) -> Expr | None:
    if not (isinstance(post, Call) and isinstance(post.op, Function)):
        return None
    return applied(post)
