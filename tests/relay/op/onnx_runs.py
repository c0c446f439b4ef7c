"""Runs one computation in the reference and in ONNX Runtime, on shared inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.relay import Constant, Function
from byoc_lab.run.reference import evaluate


def run(call: Any, *data: np.ndarray) -> np.ndarray:
    """The result of `call(*variables)` on `data`."""
    params = [relay.var(f"x{n}", shape=d.shape, dtype=d.dtype.name) for n, d in enumerate(data)]
    return evaluate(Function(params, call(*params)), list(data)).value


def run_onnx(op: str, *data: np.ndarray | None, results: int = 1, **attributes: Any) -> np.ndarray:
    """The first result of an ONNX operator in ONNX Runtime; an input that is None is omitted."""
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    helper = onnx.helper
    given = {f"x{n}": d for n, d in enumerate(data) if d is not None}
    names = [f"x{n}" if d is not None else "" for n, d in enumerate(data)]
    made = [f"y{n}" for n in range(results)]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(d.dtype), d.shape)
        for n, d in given.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(made[0])]
    graph = helper.make_graph(
        [helper.make_node(op, names, made, **attributes)], "one", inputs, outputs
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, given)[0]


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


LENGTHS = (9, 8, 7)  # sizes of the spatial axes


def each(rank: int, low: int, high: int) -> st.SearchStrategy[tuple[int, ...]]:
    """A number for each of `rank` axes."""
    return st.tuples(*[st.integers(low, high)] * rank)


def integers(*shape: int, dtype: str = "int8", seed: int = 0) -> np.ndarray:
    limits = np.iinfo(dtype)
    random = np.random.default_rng(seed)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def f32(*values: float) -> Constant:
    return relay.const(np.float32(values[0] if len(values) == 1 else values))


def i32(*values: int) -> Constant:
    return relay.const(np.int32(values[0] if len(values) == 1 else values))


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
