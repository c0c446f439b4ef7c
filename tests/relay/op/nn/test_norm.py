"""Normalizations against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.relay import nn
from tests.relay.op.onnx_runs import numbers, run, run_onnx

NORMALISATIONS = [
    (
        lambda x, g, b: nn.layer_norm(x, g, b, axis=-1, epsilon=0.01),
        "LayerNormalization",
        5,
        {"axis": -1, "epsilon": 0.01},
    ),
    (
        lambda x, g, b: nn.instance_norm(x, g, b, epsilon=0.01),
        "InstanceNormalization",
        4,
        {"epsilon": 0.01},
    ),
]


@pytest.mark.parametrize(("call", "op", "channels", "options"), NORMALISATIONS)
def test_normalisation_is_that_of_onnx_runtime(call, op, channels, options) -> None:
    data = numbers((2, 4, 3, 5), 0), numbers((channels,), 1), numbers((channels,), 2)
    np.testing.assert_allclose(
        run(call, *data), run_onnx(op, *data, **options), rtol=1e-4, atol=1e-5
    )


def test_batch_norm_is_that_of_onnx_runtime() -> None:
    x, gamma, beta, mean = numbers((2, 4, 3, 5), 0), *(numbers((4,), n) for n in (1, 2, 3))
    variance = numbers((4,), 4) ** 2 + 0.1
    data = (x, gamma, beta, mean, variance)
    found = run(lambda *args: nn.batch_norm(*args, epsilon=0.01)[0], *data)
    wanted = run_onnx("BatchNormalization", *data, epsilon=0.01)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
