"""The pipelines that move what DNNL computes into external functions.

Two pipelines: "dnnl" has the eight passes of a first BYOC flow, one idea each, for stepping
through; "partition_for_dnnl" is all that TVM 0.16's DNNL integration does. Both offload more than
TVM does: the operators marked `beyond_tvm` in `operators.py` (nn.bias_add and six of qnn), and in
`patterns.py` chains of them and concatenations; "partition_for_dnnl" also what moves data between
operators of DNNL (`data_movement.py`). `byoc_lab.compat` offloads what TVM 0.16 does and no more.
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
    """The passes from patterns to regions; merged: further ones, after patterns are merged."""
    return [
        MergeComposite(pattern_table(beyond_tvm)),
        *merged,
        AnnotateTarget(TARGET, era=AnnotateTarget.era_of(era), beyond_tvm=beyond_tvm),
        MergeCompilerRegions(),
        PartitionGraph(era=PartitionGraph.era_of(era)),
    ]


def pipeline(era: str | None = None) -> list[Pass]:
    """The passes that get a module ready for DNNL, its parameters bound before.

    FoldConstant and FoldScaleAxis turn batch norms into new weights and biases; they have levels
    2 and 3, so a Sequential skips them below these: run under PassContext(opt_level=3). With an
    `era` each pass is as it was then, where it had a variant.
    """
    fold = [FoldConstant(era=FoldConstant.era_of(era)), FoldScaleAxis()]
    return [InferType(), SimplifyInference(), *fold, *_cut_out(era)]


def full_pipeline(
    prune_subgraphs: bool = True,
    before_cutting: Sequence[Pass] = (),
    beyond_tvm: bool = True,
) -> list[Pass]:
    """The passes of `partition_for_dnnl`; run them under PassContext(opt_level=3).

    before_cutting: further passes, right before patterns are matched and regions are cut out.
    beyond_tvm: offload also what TVM 0.16 leaves to the host, and leave alone the scales that a
        convolution or dense computes (see FoldScaleAxis).
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
    """`mod` with what DNNL can run in external functions; `params` are bound into @main first.

    prune_subgraphs: regions without a compute-intensive operator go back to the host.
    before_cutting, beyond_tvm: as for `full_pipeline`.
    """
    if params:
        mod = mod.copy()
        mod["main"] = bind_params_by_name(mod["main"], params)
    with PassContext(opt_level=3):
        passes = full_pipeline(prune_subgraphs, before_cutting, beyond_tvm)
        return Sequential(passes, name=PARTITION)(mod)
