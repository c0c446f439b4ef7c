"""Padding with a value of run time, against numpy.pad."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay.ir.module import IRModule
from tests.relay.op.onnx_runs import numbers


@pytest.mark.parametrize(
    ("dtype", "width"),
    [
        ("float32", [(0, 0), (2, 1), (0, 3)]),
        ("uint8", [(1, 0), (0, 0), (0, 0)]),
        ("float32", [(0, 0), (-1, 2), (0, 0)]),
    ],
)
def test_a_value_of_run_time_pads_as_numpy_does(dtype: str, width: list[tuple[int, int]]) -> None:
    x, value = relay.var("x", shape=(2, 3, 4), dtype=dtype), relay.var("v", shape=(), dtype=dtype)
    mod = IRModule.from_expr(relay.Function([x, value], relay.nn.pad(x, width, value)))
    data, filler = (numbers((2, 3, 4), 0) * 9).astype(dtype), np.array(7, dtype)
    data[0, 1, 2] = 0 if dtype == "uint8" else np.inf  # the data is not added to anything
    kept = data[
        tuple(
            slice(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(data.shape, width, strict=True)
        )
    ]
    wanted = np.pad(kept, [(max(0, a), max(0, b)) for a, b in width], constant_values=filler)
    (found,) = byoc_lab.build(mod).run([data, filler])
    np.testing.assert_array_equal(found, wanted)
