"""Regions that do not pay: too little work to be worth the call goes back to the host.

Source: `prune_dnnl_subgraphs` of TVM 0.16 (python/tvm/relay/op/contrib/dnnl.py).
"""

from __future__ import annotations

from byoc_lab.passes.byoc.remove_unused_functions import RemoveUnusedFunctions
from byoc_lab.passes.framework.hook import (
    copies_in,
    is_heard,
    keeps_in,
    report,
    rewriting,
)
from byoc_lab.passes.framework.passes import ModulePass, PassContext, register_pass
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, rebuild, substitute
from byoc_lab.relay.typing.infer import infer_module

COMPILER = "dnnl"
COMPUTE_INTENSIVE = frozenset(
    {
        "nn.conv1d",
        "nn.conv2d",
        "nn.conv2d_transpose",
        "nn.conv3d",
        "nn.conv3d_transpose",
        "nn.dense",
        "nn.layer_norm",
        "nn.batch_matmul",
        "nn.global_avg_pool2d",
        "qnn.conv2d",
        "qnn.dense",
    }
)


class PruneSubgraphs(ModulePass):
    """Put regions of DNNL without a compute-intensive operator back into @main.

    As in TVM, a region that is the only one stays. TVM forgets quantized operators; here they
    count as the operators that they quantize.
    """

    required = ("InferType",)

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        if len(mod.functions) <= 2:
            return mod
        light = {
            gv: f
            for gv, f in mod.functions.items()
            if f.attrs.get("Compiler") == COMPILER and not is_valid_subgraph(f.body)
        }
        if not light:
            return mod
        out = mod.copy()
        main = mod["main"]
        made: dict[Expr, Expr] = {}

        def inline(pre: Expr, post: Expr) -> Expr:
            callee = pre.op if isinstance(pre, Call) else None
            if not isinstance(callee, GlobalVar) or callee not in light:
                return post
            assert isinstance(post, Call)
            function = light[callee]
            copied: dict[Expr, Expr] = {}
            arguments = dict(zip(function.params, post.args, strict=True))
            body = substitute(function.body, arguments, copied)
            copies_in(copied)
            if is_heard():
                found = sorted({n.name for n in post_order(function.body) if isinstance(n, Op)})
                reason = f"@{callee.name_hint} only computes {', '.join(found) or 'nothing'}"
                report("inline region", reason, pre, body)
            return body

        with rewriting(main, "main"):
            keeps_in(made)
            new = rebuild(main, inline, memo=made)
        assert isinstance(new, Function)
        out["main"] = new
        return infer_module(RemoveUnusedFunctions()(out))


def is_valid_subgraph(body: Expr) -> bool:
    """Whether a region has an operator that is worth calling DNNL for."""
    return any(isinstance(n, Op) and n.name in COMPUTE_INTENSIVE for n in post_order(body))


def prune_dnnl_subgraphs(mod: IRModule) -> IRModule:
    """`mod` after PruneSubgraphs."""
    return PruneSubgraphs()(mod)


register_pass("PruneSubgraphs", PruneSubgraphs)
