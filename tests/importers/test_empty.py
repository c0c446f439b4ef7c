"""Arrays without elements: reference and builds give the results of ONNX Runtime and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab.importers.onnx import from_onnx

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
torch = pytest.importorskip("torch")
pytest.importorskip("tvm")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper as h  # noqa: E402
from onnx import numpy_helper as nh  # noqa: E402

from byoc_lab.importers.pytorch import from_pytorch  # noqa: E402

F = torch.nn.functional


def agree(mod: Any, feed: Any, wanted: list[np.ndarray]) -> None:
    built = (byoc_lab.build(m).run(feed) for m in (mod, byoc_lab.trace(mod, "dnnl").result))
    for outputs in (byoc_lab.evaluate(mod, feed).outputs, *built):
        for found, by_framework in zip(outputs, wanted, strict=True):
            assert np.shape(found) == by_framework.shape
            np.testing.assert_allclose(found, by_framework, rtol=1e-5, atol=1e-6)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def gates(count: int) -> dict[str, np.ndarray]:
    return {"w": random(1, 2 * count, 3), "r": random(1, 2 * count, 2)}


SHAPES = [(0, 4, 3), (4, 0, 3), (0, 0, 3)]
NODES: list[tuple[str, tuple[int, ...], dict[str, np.ndarray], dict[str, Any]]] = [
    *(("MatMul", shape, {"w": random(3, 2)}, {}) for shape in SHAPES),
    ("MatMul", (2, 3, 0), {"w": random(0, 2)}, {}),
    ("MatMul", (2, 0, 4, 3), {"w": random(1, 1, 3, 2)}, {}),
    ("MatMul", (2, 2, 0, 3), {"w": random(2, 2, 3, 2)}, {}),
    ("Flatten", (4, 0, 3), {}, {"axis": 2}),
    ("Flatten", (4, 2, 0), {}, {"axis": 2}),
    ("Softmax", (4, 0, 3), {}, {"axis": 1}),
    ("Softmax", (0, 4, 3), {}, {"axis": 1}),
    *(("MatMul", shape, {"w": random(*shape[:-2], 3, 2)}, {}) for shape in [(0, 4, 3), (3, 0, 3)]),
]


def model(case: Any, shape: list[Any], opset: int) -> Any:
    op, _, others, attributes = case
    graph = h.make_graph(
        [h.make_node(op, ["v", *others], ["y"], **attributes)], "net",
        [h.make_tensor_value_info("v", T.FLOAT, shape)],
        [h.make_tensor_value_info("y", T.FLOAT, None)],
        [nh.from_array(a, n) for n, a in others.items()],
    )  # fmt: skip
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("case", NODES, ids=lambda c: f"{c[0]}{c[1]}")
def test_operators_on_empty_arrays_equal_onnxruntime(case: Any) -> None:
    opset = 11 if case[0] == "Softmax" else 17  # before 13 Softmax flattens
    net, data = model(case, list(case[1]), opset), np.zeros(case[1], "float32")
    wanted = ort.InferenceSession(net.SerializeToString()).run(None, {"v": data})
    agree(from_onnx(net, shape={"v": case[1]})[0], {"v": data}, wanted)


REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "op, dtype",
    [(op, "float32") for op in REDUCTIONS]
    + [(op, "int32") for op in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd")],
)
def test_reductions_over_no_elements_equal_onnxruntime(op: str, dtype: str) -> None:
    data = np.zeros((2, 0, 3), dtype)
    net = model((op, (), {"axes": np.array([1])}, {"keepdims": 0}), ["a", "b", 3], 18)
    net.graph.input[0].type.tensor_type.elem_type = h.np_dtype_to_tensor_dtype(data.dtype)
    net.graph.output[0].type.tensor_type.elem_type = h.np_dtype_to_tensor_dtype(data.dtype)
    wanted = ort.InferenceSession(net.SerializeToString()).run(None, {"v": data})
    agree(from_onnx(net, shape={"v": data.shape})[0], {"v": data}, wanted)
    at_run_time = byoc_lab.evaluate(from_onnx(net)[0], {"v": data}).outputs
    if op != "ReduceMean":  # docs/importers.md says so
        np.testing.assert_array_equal(at_run_time[0], wanted[0])
    elif dtype != "int32":
        assert np.isnan(at_run_time[0]).all()


@pytest.mark.parametrize("op, count", [("DynamicQuantizeLinear", 3), ("Hardmax", 1)])
def test_extremes_of_no_elements_can_be_used_as_in_onnxruntime(op: str, count: int) -> None:
    data = np.zeros((2, 0), "float32")
    outputs = [f"r{i}" for i in range(count)]
    graph = h.make_graph(
        [h.make_node(op, ["v"], outputs)], "net",
        [h.make_tensor_value_info("v", T.FLOAT, ["a", "b"])],
        [onnx.ValueInfoProto(name=name) for name in outputs],
    )  # fmt: skip
    net = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    wanted = ort.InferenceSession(net.SerializeToString()).run(None, {"v": data})
    agree(from_onnx(net, shape={"v": data.shape})[0], {"v": data}, wanted)


@pytest.mark.parametrize("shape", SHAPES)
def test_dimensions_that_are_zero_at_run_time_equal_onnxruntime(shape: Any) -> None:
    net = model(NODES[0], ["a", "b", 3], 17)
    data = np.zeros(shape, "float32")
    wanted = ort.InferenceSession(net.SerializeToString()).run(None, {"v": data})
    agree(from_onnx(net)[0], {"v": data}, wanted)


@pytest.mark.parametrize("op, count", [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent_layers_with_an_empty_batch_return_empty_results(op: str, count: int) -> None:
    net = model((op, (), gates(count), {"hidden_size": 2}), [2, "batch", 3], 17)
    mod, _ = from_onnx(net, shape={"v": (2, 0, 3)})
    agree(mod, {"v": np.zeros((2, 0, 3), "float32")}, [np.zeros((2, 1, 0, 2))])


def test_dimension_of_zero_at_run_time_is_broadcast_as_in_onnxruntime() -> None:
    data = np.zeros((2, 0, 4, 3), "float32")
    net = model(("MatMul", (), {"w": random(1, 1, 3, 2)}, {}), ["a", "b", 4, 3], 17)
    mod, _ = from_onnx(net)
    assert byoc_lab.evaluate(mod, {"v": data}).outputs[0].shape == (2, 0, 4, 2)
    net = model(("Expand", (), {}, {}), [2, 1], 17)
    net.graph.node[0].input.append("s")
    net.graph.input.append(h.make_tensor_value_info("s", T.INT64, [2]))
    feed = {"v": np.ones((2, 1), "float32"), "s": np.array([1, 0])}
    wanted = ort.InferenceSession(net.SerializeToString()).run(None, feed)
    found = byoc_lab.evaluate(from_onnx(net)[0], feed).outputs
    assert found[0].shape == wanted[0].shape == (2, 0)


class Network(torch.nn.Module):
    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def forward(self, *x: Any) -> Any:
        return self.function(*x)


def _assigned(x: Any, places: Any, values: Any) -> Any:
    return x.index_put((places,), values)


INTEGERS = torch.zeros(0, dtype=torch.int64)
NETWORKS: dict[str, tuple[Any, list[Any]]] = {
    "linear": (torch.nn.Linear(3, 2), [torch.zeros(4, 0, 3)]),
    "no features": (lambda x, w: x @ w, [torch.zeros(2, 3, 0), torch.zeros(0, 2)]),
    "batches": (lambda x, y: x @ y, [torch.zeros(2, 0, 4, 3), torch.zeros(2, 0, 3, 2)]),
    "encoder": (
        torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), [torch.zeros(0, 4, 8)]
    ),
    "lstm": (torch.nn.LSTM(3, 2, batch_first=True), [torch.zeros(0, 4, 3)]),
    "bags": (torch.nn.EmbeddingBag(6, 3), [torch.zeros(0, 3, dtype=torch.int64)]),
    "pixels": (torch.nn.PixelShuffle(2), [torch.zeros(0, 4, 2, 2)]),
    "channels": (torch.nn.ChannelShuffle(2), [torch.zeros(2, 4, 0, 2)]),
    "layer norm": (lambda x: F.layer_norm(x, (4, 3)), [torch.zeros(2, 0, 4, 3)]),
    "two tensors": (lambda x, i, j: x[i, j], [torch.zeros(4, 5, 0), INTEGERS + 1, INTEGERS]),
    "assigned": (_assigned, [torch.zeros(4, 0), torch.tensor([1, 2]), torch.zeros(2, 0)]),
    "view": (lambda x: x.view(3, 0, 2), [torch.zeros(0, 6)]),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_operators_on_empty_tensors_equal_pytorch(name: str) -> None:
    function, inputs = NETWORKS[name]
    net = Network(function).eval()
    wanted = net(*inputs)
    flat = torch.utils._pytree.tree_leaves(wanted)
    mod, _ = from_pytorch(net, tuple(inputs))
    agree(mod, [x.numpy() for x in inputs], [x.detach().numpy() for x in flat])
