"""Activations compared with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.relay import nn
from tests.relay.op.onnx_runs import numbers, run, run_onnx

ACTIVATIONS = [
    (relay.sigmoid, "Sigmoid", {}),
    (relay.tanh, "Tanh", {}),
    (relay.erf, "Erf", {}),
    (lambda x: nn.softmax(x, axis=1), "Softmax", {"axis": 1}),
    (lambda x: nn.log_softmax(x, axis=-1), "LogSoftmax", {"axis": -1}),
    (lambda x: nn.leaky_relu(x, alpha=0.3), "LeakyRelu", {"alpha": 0.3}),
    (nn.global_avg_pool2d, "GlobalAveragePool", {}),
    (nn.global_max_pool2d, "GlobalMaxPool", {}),
]


@pytest.mark.parametrize(("call", "op", "options"), ACTIVATIONS, ids=[a[1] for a in ACTIVATIONS])
def test_activation_agrees_with_onnxruntime(call, op, options) -> None:
    x = numbers((2, 3, 4, 5), 0) * 30
    np.testing.assert_allclose(run(call, x), run_onnx(op, x, **options), rtol=1e-5, atol=2e-6)
