"""Global and adaptive pooling compared with ONNX Runtime and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.relay import nn
from tests.relay.op.onnx_runs import close, numbers, run, run_onnx

LENGTHS = (9, 8, 7)


@pytest.mark.parametrize("rank", [1, 3])
def test_global_pooling_agrees_with_onnxruntime(rank) -> None:
    x = numbers((2, 3, *LENGTHS[:rank]), 0)
    close(run(getattr(nn, f"global_avg_pool{rank}d"), x), run_onnx("GlobalAveragePool", x))
    close(run(getattr(nn, f"global_max_pool{rank}d"), x), run_onnx("GlobalMaxPool", x))


def test_adaptive_pooling_of_overlapping_parts_equals_numpy() -> None:
    """5 elements in 3 parts: 0 to 1, 1 to 3, 3 to 4."""
    x = numbers((1, 2, 5), 0)
    parts = [x[:, :, 0:2], x[:, :, 1:4], x[:, :, 3:5]]
    average = run(lambda a: nn.adaptive_avg_pool1d(a, 3), x)
    close(average, np.stack([p.mean(-1) for p in parts], -1))
    greatest = run(lambda a: nn.adaptive_max_pool1d(a, 3), x)
    close(greatest, np.stack([p.max(-1) for p in parts], -1))
