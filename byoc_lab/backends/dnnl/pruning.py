"""Inlines regions with too little work to justify a call into @main.

Source: `prune_dnnl_subgraphs` of TVM 0.16 (python/tvm/relay/op/contrib/dnnl.py).
"""

from __future__ import annotations

from byoc_lab.backends.dnnl.operators import is_compute_intensive
from byoc_lab.passes.byoc.inline_regions import InlineRegions
from byoc_lab.passes.framework.passes import PassContext, register_pass
from byoc_lab.relay.ir.expr import Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

COMPILER = "dnnl"


class PruneSubgraphs(InlineRegions):
    """Put regions of DNNL without a compute-intensive operator back into @main.

    As in TVM, a single region is kept. TVM omits quantized operators by mistake; here they count
    like the operators that they quantize.
    """

    def __init__(self) -> None:
        super().__init__(COMPILER, _why_light)

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return mod if len(mod.functions) <= 2 else super().run(mod, ctx)


def _why_light(function: Function) -> str | None:
    """The reason why a region has too little work; None if it has enough."""
    if is_valid_subgraph(function.body):
        return None
    found = sorted({n.name for n in post_order(function.body) if isinstance(n, Op)})
    return f"only computes {', '.join(found) or 'nothing'}"


def is_valid_subgraph(body: Expr) -> bool:
    """Whether a region has an operator that is worth calling DNNL for."""
    return any(isinstance(n, Op) and is_compute_intensive(n.name) for n in post_order(body))


def prune_dnnl_subgraphs(mod: IRModule) -> IRModule:
    """`mod` after PruneSubgraphs."""
    return PruneSubgraphs()(mod)


register_pass("PruneSubgraphs", PruneSubgraphs)
