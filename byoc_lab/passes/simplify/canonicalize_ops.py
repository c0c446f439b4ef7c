"""CanonicalizeOps: `nn.bias_add(%x, %b, axis=a)` -> `add(%x, expand_dims(%b, ...))`."""

from __future__ import annotations

from typing import Any

from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.framework.namespace import function


class CanonicalizeOps(FunctionPass):
    """`nn.bias_add(%x, %b, axis=a)` -> `add(%x, expand_dims(%b, ...))`.

    The bias gets one trailing axis for each axis after a; for the last axis it is added unchanged,
    since broadcasting aligns it. Later passes then need not handle bias_add.

    Source: src/relay/transforms/canonicalize_ops.cc of TVM 0.16.
    """

    opt_level = 3
    required = ("InferType",)
    replaces = ("nn.bias_add",)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, [to_add])


@rule("bias_add is add", "adding one number per index of an axis is a broadcast addition")
def to_add(pre: Any, post: Any) -> Expr | None:
    if not isinstance(post, Call) or not post.is_op("nn.bias_add"):
        return None
    data, bias = post.args
    rank = len(pre.args[0].checked_type.shape)
    behind = rank - 1 - post.attrs.axis % rank
    if behind:
        bias = function("expand_dims")(bias, axis=1, num_newaxis=behind)
    return Call(Op.get("add"), [data, bias])
