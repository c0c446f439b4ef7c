"""The integrations of vendor libraries partition and rewrite as TVM 0.16 does."""

from __future__ import annotations

from tests.parity.golden import golden_test

test_arm_compute_lib = golden_test("arm_compute_lib")
test_bnns = golden_test("bnns")
test_cublas = golden_test("cublas")
test_cudnn = golden_test("cudnn")
test_cutlass = golden_test("cutlass")
test_legalize_qnn_for_dnnl = golden_test("legalize_qnn_for_dnnl")
test_rewrite_resnetv1 = golden_test("rewrite_resnetv1")
