"""The example back end: DNNL, which is oneDNN's older name and the one BYOC knows it by.

Importing this registers, as any back end does it:

- the predicates `target.dnnl` and the pattern table "dnnl" (what AnnotateTarget and MergeComposite
  offload), from `operators.py` and `patterns.py`;
- the pipelines "dnnl" and "partition_for_dnnl", from a plain module to a partitioned one;
- the code generator of external functions, `codegen.py`.

The native extension is loaded when something runs on it: `native.py`; single kernels to call by
hand are in `kernels.py`.
"""

from __future__ import annotations

from byoc_lab.dnnl import kernels, native
from byoc_lab.dnnl.codegen import RegionGraph, compile_region, region_graph
from byoc_lab.dnnl.operators import OPERATORS, register_predicates, why_not
from byoc_lab.dnnl.partition import TARGET, full_pipeline, partition_for_dnnl, pipeline
from byoc_lab.dnnl.patterns import Chain, chains, pattern_table
from byoc_lab.relay.op.contrib import register_pattern_table
from byoc_lab.run.backends import register_backend

register_predicates()
register_pattern_table(TARGET, pattern_table)
register_backend(TARGET, compile_region)

__all__ = [
    "OPERATORS",
    "Chain",
    "RegionGraph",
    "chains",
    "compile_region",
    "full_pipeline",
    "kernels",
    "native",
    "partition_for_dnnl",
    "pattern_table",
    "pipeline",
    "region_graph",
    "why_not",
]
