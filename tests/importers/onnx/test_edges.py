"""ONNX operators on special values: ONNX Runtime's results, except for listed differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab.importers.onnx import from_onnx

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper as h  # noqa: E402
from onnx import numpy_helper as nh  # noqa: E402

PAGE = Path(__file__).parents[3] / "docs" / "importers.md"
SPECIAL = np.float32(
    [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40, 0.5, 1.5, 2.5, -0.5, -2.5, 3e38, -3e38, 1,
     -1, 88.8, -104]
)  # fmt: skip
ROW = np.float32([1, 2, 3, -1, 0.5, 0.25, 0, 1])
ROWS = np.stack(
    [row for s in SPECIAL for row in (np.where(np.arange(8) == 4, s, ROW), np.full(8, s))]
).astype("float32")
IMAGE = np.ascontiguousarray(np.concatenate([ROWS, ROWS], 1).reshape(1, -1, 4, 4))
LEFT, RIGHT = np.repeat(SPECIAL, SPECIAL.size), np.tile(SPECIAL, SPECIAL.size)
UNARY = (
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu",
    "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu",
    "Log", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh",
    "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu",
)  # fmt: skip
BINARY = (
    "Add", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min",
    "Mul", "PRelu", "Pow", "Sub", "Sum",
)  # fmt: skip
REDUCING = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSumSquare",
)  # fmt: skip
PLACES = np.array([1, 3, 3, 8, 12])
Case = tuple[str, np.ndarray, dict[str, np.ndarray], dict[str, Any]]
WINDOW: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
CASES: list[Case] = [
    *((op, SPECIAL, {}, {}) for op in UNARY),
    *((op, LEFT, {"b": RIGHT}, {}) for op in BINARY),
    *((op, ROWS, {}, {"axes": [1]}) for op in REDUCING),
    *((op, ROWS, {}, {"axis": 1}) for op in ("ArgMax", "ArgMin", "Hardmax", "LogSoftmax")),
    *((op, ROWS, {}, {"axis": 1}) for op in ("LpNormalization", "Softmax")),
    ("ReduceSum", ROWS, {"a": np.array([1])}, {}),
    ("CumSum", ROWS, {"a": np.array(1)}, {}),
    ("MatMul", ROWS, {"w": np.ones((8, 3), "float32")}, {}),
    ("LayerNormalization", ROWS, {"s": np.ones(8, "float32")}, {}),
    ("Clip", SPECIAL, {"lo": np.float32(-1), "hi": np.float32(2)}, {}),
    ("QuantizeLinear", SPECIAL, {"s": np.float32(1), "z": np.array(0, "int8")}, {}),
    *((op, IMAGE, {}, WINDOW) for op in ("AveragePool", "MaxPool")),
    *((op, IMAGE, {}, {}) for op in ("GlobalAveragePool", "GlobalMaxPool")),
    ("LRN", IMAGE, {}, {"size": 3}),
    *(
        (op, SPECIAL, {"i": places, "u": -SPECIAL[9:14]}, {"reduction": kind})
        for op, places in (("ScatterElements", PLACES), ("ScatterND", PLACES[:, None]))
        for kind in ("add", "mul", "max", "min")
    ),
    ("Resize", IMAGE, {"": np.array(0), "s": np.float32([1, 1, 2, 2])}, {"mode": "nearest"}),
]
# Operators whose special values may differ, as docs/importers.md lists: they get other values.
DIFFERENT = {
    "ArgMax", "ArgMin", "GlobalMaxPool", "Hardmax", "LayerNormalization", "LRN", "MaxPool",
    "ReduceLogSumExp", "ReduceMax", "ReduceMin", "ScatterElements", "ScatterND", "Softplus",
}  # fmt: skip
# ONNX Runtime has a separate kernel for AVX-512: nan results differ between processors.
OF_THE_PROCESSOR = {"LogSoftmax", "QuantizeLinear", "Softmax"}


def model(case: Case) -> Any:
    op, data, others, attributes = case
    truth = op.startswith(("Is", "Equal", "Greater", "Less"))
    kind = T.BOOL if truth else T.INT64 if op.startswith("Arg") else T.FLOAT
    result = h.make_tensor_value_info("r", T.INT8 if op == "QuantizeLinear" else kind, None)
    tensors = [nh.from_array(array, name) for name, array in others.items() if name]
    node = h.make_node(op, ["v", *others], ["r"], **attributes)
    opset = 18 if "reduction" in attributes else 17
    given = h.make_tensor_value_info("v", T.FLOAT, list(data.shape))
    graph = h.make_graph([node], "net", [given], [result], tensors)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=9)


def by_framework(net: Any, data: np.ndarray) -> np.ndarray:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(net.SerializeToString(), options)
    return np.asarray(session.run(None, {"v": data})[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_special_values_equal_onnxruntime(case: Case) -> None:
    op, data, _, _ = case
    if op in DIFFERENT:
        data = np.where(np.abs(data) < 50, data, np.float32(1))
    elif op in OF_THE_PROCESSOR:
        data = np.where(np.isnan(data), np.float32(1), data)
    net = model(case)
    found = byoc_lab.evaluate(from_onnx(net)[0], {"v": data}).outputs[0]
    wanted = by_framework(net, data)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", ["ReduceSum", *REDUCING])
def test_reduction_over_no_axes_applies_to_each_element(op: str) -> None:
    node = h.make_node(op, ["v", "axes"], ["r"], noop_with_empty_axes=1)
    axes = nh.from_array(np.zeros(0, "int64"), "axes")
    given = h.make_tensor_value_info("v", T.FLOAT, [2])
    result = h.make_tensor_value_info("r", T.FLOAT, None)
    graph = h.make_graph([node], "net", [given], [result], [axes])
    net = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=9)
    data = np.float32([-2, 3])
    found = byoc_lab.evaluate(from_onnx(net)[0], {"v": data}).outputs[0]
    np.testing.assert_allclose(found, by_framework(net, data), rtol=1e-6)


def test_page_lists_the_operators_that_differ() -> None:
    _, _, text = PAGE.read_text().partition("### Numbers that differ from ONNX Runtime")
    rows = [line.split("|")[1].strip() for line in text.split("##")[0].splitlines() if "|" in line]
    assert {name for row in rows[2:] for name in row.split(", ")} == DIFFERENT
