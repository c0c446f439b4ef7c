"""The pipelines that move operators into external functions for DNNL.

"dnnl" has eight passes, one idea each: a first BYOC flow to step through. "partition_for_dnnl" has
all steps of TVM 0.16's DNNL integration. Both offload more than TVM: the operators marked
`beyond_tvm` in `operators.py` (nn.bias_add and six qnn operators), and in `patterns.py` chains of
these operators and concatenations. "partition_for_dnnl" also offloads operators that move data
between DNNL operators (`data_movement.py`). `byoc_lab.compat` offloads exactly what TVM 0.16
offloads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from byoc_lab.backends.dnnl.data_movement import OffloadDataMovement
from byoc_lab.backends.dnnl.legalize import LegalizeGroupConv
from byoc_lab.backends.dnnl.patterns import pattern_table
from byoc_lab.backends.dnnl.pruning import PruneSubgraphs
from byoc_lab.backends.dnnl.rewrites import RewriteDenseBiasGeluReshapeLast, RewriteLayerNorm
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, PassContext, Sequential
from byoc_lab.passes.framework.pipelines import register_pipeline
from byoc_lab.passes.simplify.canonicalize_ops import CanonicalizeOps
from byoc_lab.passes.simplify.simplify_expr import SimplifyExpr
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.module import IRModule

TARGET = "dnnl"
PARTITION = "partition_for_dnnl"


def _cut_out(
    era: str | None = None, beyond_tvm: bool = True, merged: Sequence[Pass] = ()
) -> list[Pass]:
    """The passes from MergeComposite to PartitionGraph; merged: additional passes after
    MergeComposite."""
    return [
        MergeComposite(pattern_table(beyond_tvm)),
        *merged,
        AnnotateTarget(TARGET, era=AnnotateTarget.era_of(era), beyond_tvm=beyond_tvm),
        MergeCompilerRegions(),
        PartitionGraph(era=PartitionGraph.era_of(era)),
    ]


def pipeline(era: str | None = None) -> list[Pass]:
    """The passes that partition a module for DNNL, after its parameters were bound.

    FoldConstant and FoldScaleAxis turn batch norms into new weights and biases; they have levels
    2 and 3, so a Sequential skips them at lower levels: run under PassContext(opt_level=3). With an
    `era`, each pass that has a variant for that era is replaced by the variant.
    """
    fold = [FoldConstant(era=FoldConstant.era_of(era)), FoldScaleAxis()]
    return [InferType(), SimplifyInference(), *fold, *_cut_out(era)]


def full_pipeline(
    prune_subgraphs: bool = True,
    before_cutting: Sequence[Pass] = (),
    beyond_tvm: bool = True,
) -> list[Pass]:
    """The passes of `partition_for_dnnl`; run them under PassContext(opt_level=3).

    before_cutting: additional passes directly before MergeComposite.
    beyond_tvm: also offload operators that TVM 0.16 leaves to the host, and do not move scales that
        a convolution or dense computes (see FoldScaleAxis).
    """
    simplify = [
        CanonicalizeOps(),
        InferType(),
        SimplifyInference(),
        FoldConstant(),
        FoldScaleAxis(computed=not beyond_tvm),
        SimplifyExpr(),
        FoldConstant(),
        LegalizeGroupConv(),
        FoldConstant(),
    ]
    fit: list[Pass] = [RewriteLayerNorm(), RewriteDenseBiasGeluReshapeLast(), FoldConstant()]
    moves = [OffloadDataMovement()] if beyond_tvm else []
    cut = _cut_out(beyond_tvm=beyond_tvm, merged=moves)
    prune = [PruneSubgraphs()] if prune_subgraphs else []
    return [*simplify, *fit, *before_cutting, *cut, *prune]


register_pipeline(PARTITION, full_pipeline)


def partition_for_dnnl(
    mod: IRModule,
    params: Mapping[str, Any] | None = None,
    prune_subgraphs: bool = True,
    *,
    before_cutting: Sequence[Pass] = (),
    beyond_tvm: bool = True,
) -> IRModule:
    """`mod` with the operators that DNNL supports in external functions; `params` are bound into
    @main first.

    prune_subgraphs: inline regions without a compute-intensive operator into @main.
    before_cutting, beyond_tvm: as for `full_pipeline`.
    """
    if params:
        mod = mod.copy()
        mod["main"] = bind_params_by_name(mod["main"], params)
    with PassContext(opt_level=3):
        passes = full_pipeline(prune_subgraphs, before_cutting, beyond_tvm)
        return Sequential(passes, name=PARTITION)(mod)
