"""The back end DNNL: oneDNN under its older name, which BYOC uses.

Importing this package registers the back end with `byoc_lab.backends.register`: its supported
operators (`operators.py`), fused patterns (`patterns.py`), passes (`partition.py`) and code
generator (`codegen.py`).

The native extension is loaded at its first use (`native.py`). `kernels` has single kernels as
Python functions.
"""

from __future__ import annotations

from byoc_lab.backends import register
from byoc_lab.backends.dnnl import kernels, native
from byoc_lab.backends.dnnl.codegen import compile_region, region_graph, stand_in
from byoc_lab.backends.dnnl.graph import RegionGraph
from byoc_lab.backends.dnnl.operators import OPERATORS, takes
from byoc_lab.backends.dnnl.operators import why_not as why_not_compiled
from byoc_lab.backends.dnnl.partition import TARGET, full_pipeline, partition_for_dnnl, pipeline
from byoc_lab.backends.dnnl.patterns import Chain, chains, pattern_table
from byoc_lab.run.backends import register_runtime

_backend = register(
    TARGET,
    patterns=pattern_table,
    supports={name: takes for name, operator in OPERATORS.items() if operator.offered},
    beyond_tvm=[name for name, operator in OPERATORS.items() if operator.beyond_tvm],
    codegen=compile_region,
    compiles=why_not_compiled,
    missing=stand_in,
    pipeline=pipeline,
)
register_runtime(native.available)

# The reason why DNNL does not support a single call, as `backends.get("dnnl").why_not`. Regions
# annotated by hand may contain more operators: `operators.why_not`.
why_not = _backend.why_not

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
