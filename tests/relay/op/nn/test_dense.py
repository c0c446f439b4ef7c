"""Matrix products with transposed operands compared with ONNX Runtime."""

from __future__ import annotations

from byoc_lab.relay import nn
from tests.relay.op.onnx_runs import close, numbers, run, run_onnx


def test_matmul_with_transposed_operands_agrees_with_onnxruntime() -> None:
    a, b = numbers((4, 3), 0), numbers((5, 4), 1)
    found = run(lambda x, y: nn.matmul(x, y, transpose_a=True, transpose_b=True), a, b)
    close(found, run_onnx("Gemm", a, b, transA=1, transB=1))
