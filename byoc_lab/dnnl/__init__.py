"""The example back end: DNNL, which is oneDNN's older name and the one BYOC knows it by.

Importing this registers, as any back end does it:

- the predicates `target.dnnl` and the pattern table "dnnl" (what AnnotateTarget and MergeComposite
  offload), from `operators.py` and `patterns.py`;
- the pipeline "dnnl", from a plain module to a partitioned one;
- the code generator of external functions, `codegen.py`.

The native extension is loaded when something runs on it: `native.py`; single kernels to call by
hand are in `kernels.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.dnnl import kernels, native
from byoc_lab.dnnl.codegen import RegionGraph, compile_region, region_graph
from byoc_lab.dnnl.operators import OPERATORS, register_predicates, why_not
from byoc_lab.dnnl.patterns import Chain, chains, pattern_table
from byoc_lab.passes.annotate_target import AnnotateTarget
from byoc_lab.passes.base import Pass, PassContext, Sequential
from byoc_lab.passes.fold_constant import FoldConstant
from byoc_lab.passes.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.infer_type import InferType
from byoc_lab.passes.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.merge_composite import MergeComposite
from byoc_lab.passes.partition_graph import PartitionGraph
from byoc_lab.passes.pipelines import register_pipeline
from byoc_lab.passes.simplify_inference import SimplifyInference
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.op.contrib import register_pattern_table
from byoc_lab.run.backends import register_backend

TARGET = "dnnl"


@register_pipeline(TARGET)
def pipeline() -> list[Pass]:
    """The passes that get a module ready for DNNL, its parameters bound before.

    FoldConstant and FoldScaleAxis turn batch norms into new weights and biases; they have levels
    2 and 3, so a Sequential skips them below these: run under PassContext(opt_level=3).
    """
    return [
        InferType(),
        SimplifyInference(),
        FoldConstant(),
        FoldScaleAxis(),
        MergeComposite(pattern_table()),
        AnnotateTarget(TARGET),
        MergeCompilerRegions(),
        PartitionGraph(),
    ]


def partition_for_dnnl(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """`mod` with what DNNL can run in external functions; `params` are bound into @main first."""
    if params:
        mod = mod.copy()
        mod["main"] = bind_params_by_name(mod["main"], params)
    with PassContext(opt_level=3):
        return Sequential(pipeline(), name=TARGET)(mod)


register_predicates()
register_pattern_table(TARGET, pattern_table)
register_backend(TARGET, compile_region)

__all__ = [
    "OPERATORS",
    "Chain",
    "RegionGraph",
    "chains",
    "compile_region",
    "kernels",
    "native",
    "partition_for_dnnl",
    "pattern_table",
    "pipeline",
    "region_graph",
    "why_not",
]
