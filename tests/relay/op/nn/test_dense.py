"""Matrix products with transposed operands against NumPy."""

from __future__ import annotations

import numpy as np

from byoc_lab.relay import nn
from tests.relay.op.onnx_runs import numbers, run, run_onnx


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_matmul_transposes() -> None:
    a, b = numbers((4, 3), 0), numbers((5, 4), 1)
    found = run(lambda x, y: nn.matmul(x, y, transpose_a=True, transpose_b=True), a, b)
    close(found, run_onnx("Gemm", a, b, transA=1, transB=1))
