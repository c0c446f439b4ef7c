"""DNNL's partitioning and rewrites give the modules of TVM 0.16."""

from __future__ import annotations

from tests.parity.golden import golden_test

test_legalize_group_conv = golden_test("legalize_group_conv")
test_partition_for_dnnl = golden_test("partition_for_dnnl")
test_prune_dnnl_subgraphs = golden_test("prune_dnnl_subgraphs")
test_rewrite_dense_bias_gelu_reshape_last = golden_test("rewrite_dense_bias_gelu_reshape_last")
test_rewrite_layer_norm = golden_test("rewrite_layer_norm")
