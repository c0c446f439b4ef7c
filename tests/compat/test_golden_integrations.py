"""The integrations of other libraries partition as TVM 0.16 does."""

from __future__ import annotations

from tests.parity.golden import golden_test

test_arm_compute_lib = golden_test("arm_compute_lib")
test_bnns = golden_test("bnns")
test_cublas = golden_test("cublas")
test_cudnn = golden_test("cudnn")
test_cutlass = golden_test("cutlass")
