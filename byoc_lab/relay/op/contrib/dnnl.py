"""`relay.op.contrib.dnnl`: the back end DNNL under TVM's name for it.

It offloads more than TVM 0.16 does; `byoc_lab.compat` has all names of TVM's module, and offloads
exactly what TVM offloads. Nothing in `byoc_lab.relay` uses this module.
"""

from __future__ import annotations

from byoc_lab.backends.dnnl.legalize import legalize_group_conv
from byoc_lab.backends.dnnl.partition import partition_for_dnnl
from byoc_lab.backends.dnnl.patterns import pattern_table
from byoc_lab.backends.dnnl.pruning import is_valid_subgraph, prune_dnnl_subgraphs
from byoc_lab.backends.dnnl.rewrites import (
    DenseReshapeBiasGeluRewrite,
    LayerNormRewrite,
    rewrite_dense_bias_gelu_reshape_last,
    rewrite_layer_norm,
)

__all__ = [
    "DenseReshapeBiasGeluRewrite",
    "LayerNormRewrite",
    "is_valid_subgraph",
    "legalize_group_conv",
    "partition_for_dnnl",
    "pattern_table",
    "prune_dnnl_subgraphs",
    "rewrite_dense_bias_gelu_reshape_last",
    "rewrite_layer_norm",
]
