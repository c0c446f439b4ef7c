"""Recurrent layers and Scan give ONNX Runtime's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import byoc_lab
from byoc_lab.backends import dnnl
from byoc_lab.errors import UnsupportedOperatorError
from byoc_lab.importers.onnx import from_onnx
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.executable import is_external

STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "reverse": {"direction": "reverse"},
    "both": {"direction": "bidirectional"},
    "lengths": {"lengths": [5, 2, 3]},
    "lengths backwards": {"direction": "reverse", "lengths": [1, 5, 3]},
    "lengths both": {"direction": "bidirectional", "lengths": [4, 2, 5]},
    "whole lengths": {"lengths": [5, 5, 5]},
    "clip": {"clip": 0.3},
    "states": {"states": True, "direction": "bidirectional"},
    "no bias": {"bias": False},
}


def layer(op: str, direction: str = "forward", **more: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """A model of one layer, and values for its inputs."""
    random = np.random.RandomState(0)
    lengths, states = more.pop("lengths", None), more.pop("states", False)
    steps = more.pop("steps", STEPS)
    bias, count, rows = more.pop("bias", True), 1 + (direction == "bidirectional"), GATES[op]
    shapes: list[tuple[str, tuple[int, ...]]] = [
        ("x", (steps, BATCH, INPUTS)),
        ("w", (count, rows * HIDDEN, INPUTS)),
        ("r", (count, rows * HIDDEN, HIDDEN)),
    ]
    shapes += [("b", (count, 2 * rows * HIDDEN))] * bias
    given = {n: random.uniform(-1, 1, s).astype(np.float32) for n, s in shapes}
    if lengths is not None:
        given["lengths"] = np.array(lengths, np.int32)
    starts = ["h", "c"][: 1 + (op == "LSTM")] if states else []
    for name in starts:
        given[name] = random.uniform(-1, 1, (count, BATCH, HIDDEN)).astype(np.float32)
    peep = more.pop("peephole", False)
    if peep:
        given["p"] = random.uniform(-1, 1, (count, 3 * HIDDEN)).astype(np.float32)
    order = ["x", "w", "r", "b", "lengths", "h", "c", "p"]
    inputs = [n if n in given else "" for n in order]
    while not inputs[-1]:
        inputs.pop()
    outputs = ["y", "y_h", "y_c"][: 2 + (op == "LSTM")]
    node = helper.make_node(
        op, inputs, outputs, "layer", hidden_size=HIDDEN, direction=direction, **more
    )
    graph = helper.make_graph(
        [node],
        "net",
        [
            helper.make_tensor_value_info(
                n, TensorProto.INT32 if n == "lengths" else TensorProto.FLOAT, v.shape
            )
            for n, v in given.items()
        ],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    return made, given


def check(model: Any, given: dict[str, np.ndarray]) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    mod, _ = from_onnx(model)
    found = byoc_lab.evaluate(mod, given).outputs
    for ours, theirs in zip(found, session.run(None, given), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", GATES)
def test_recurrent_layer_of_many_steps_is_one_region_of_dnnl(op: str) -> None:
    """More steps than operands of one native concatenation."""
    model, given = layer(op, steps=70)
    mod, _ = from_onnx(model)
    weights = {name: value for name, value in given.items() if name != "x"}
    cut = dnnl.partition_for_dnnl(mod, weights)
    assert len([f for f in cut.functions.values() if is_external(f)]) == 1
    calls = [n for n in post_order(cut["main"].body) if isinstance(n, Call)]
    on_host = {call.op_name for call in calls if isinstance(call.op, Op)}
    assert on_host <= {"reshape", "transpose", "squeeze", "expand_dims", "stack"}


def numbers(alpha: float, beta: float) -> dict[str, list[float]]:
    return {"activation_alpha": [alpha], "activation_beta": [beta]}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("op", GATES)
def test_recurrent_layers_equal_onnxruntime(op: str, case: str) -> None:
    check(*layer(op, **dict(CASES[case])))


@pytest.mark.parametrize(
    "op, more",
    [
        ("GRU", {"linear_before_reset": 1}),
        ("GRU", {"linear_before_reset": 1, "bias": False}),
        ("LSTM", {"input_forget": 1}),
        ("LSTM", {"peephole": True, "direction": "bidirectional"}),
        ("RNN", {"activations": ["Relu"]}),
        ("RNN", {"activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.1]}),
        (
            "RNN",
            {"activations": ["ScaledTanh"], "activation_alpha": [0.5], "activation_beta": [2.0]},
        ),
        ("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.2]}),
        ("RNN", {"activations": ["ThresholdedRelu"], "activation_alpha": [0.2]}),
        ("RNN", {"activations": ["Elu"], "activation_alpha": [0.7]}),
        ("RNN", {"activations": ["Softsign"]}),
        ("RNN", {"activations": ["Softplus"]}),
        ("GRU", {"activations": ["HardSigmoid", "Tanh"], "activation_alpha": [0.3]}),
        ("LSTM", {"activations": ["Sigmoid", "Relu", "Tanh"]}),
    ],
)
def test_attributes_of_recurrent_layers_equal_onnxruntime(op: str, more: dict[str, Any]) -> None:
    check(*layer(op, **more))


def test_unsupported_recurrent_layer_raises_error_that_names_the_node() -> None:
    model, _ = layer("RNN", activations=["Cosh"])
    with pytest.raises(UnsupportedOperatorError, match=r"node 'layer', operator RNN.*'Cosh'"):
        from_onnx(model)
    model, _ = layer("GRU", activations=["Tanh"])
    with pytest.raises(UnsupportedOperatorError, match="has 1 activation functions, expected 2"):
        from_onnx(model)
    model, _ = layer("LSTM")
    model.graph.input[0].type.tensor_type.shape.dim.add().dim_value = 1
    with pytest.raises(UnsupportedOperatorError, match=r"3 dimensions \(steps.*it has 4"):
        from_onnx(model)


def scan(
    axes: tuple[int, int] = (0, 0), backwards: tuple[int, int] = (0, 0), opset: int = 11
) -> Any:
    """total += row; the totals of all iterations are stacked."""
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Add", ["total", "row"], ["next"]),
            helper.make_node("Mul", ["next", "factor"], ["shown"]),
        ],
        "body",
        [info("total", TensorProto.FLOAT, [3]), info("row", TensorProto.FLOAT, [3])],
        [info("next", TensorProto.FLOAT, [3]), info("shown", TensorProto.FLOAT, [3])],
    )
    node = helper.make_node(
        "Scan",
        ["start", "rows"],
        ["total_out", "totals"],
        "scan",
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[axes[0]],
        scan_output_axes=[axes[1]],
        scan_input_directions=[backwards[0]],
        scan_output_directions=[backwards[1]],
    )
    shape = [5, 3] if axes[0] % 2 == 0 else [3, 5]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["f"], ["factor"]), node],
        "net",
        [
            info("start", TensorProto.FLOAT, [3]),
            info("rows", TensorProto.FLOAT, shape),
            info("f", TensorProto.FLOAT, [3]),
        ],
        [info("total_out", TensorProto.FLOAT, [3]), info("totals", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("axes", [(0, 0), (1, 0), (0, 1), (-1, -1)])
@pytest.mark.parametrize("backwards", [(0, 0), (1, 0), (0, 1)])
def test_scan_equals_onnxruntime(axes: tuple[int, int], backwards: tuple[int, int]) -> None:
    model = scan(axes, backwards)
    random = np.random.RandomState(0)
    shapes = {
        i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input
    }
    check(model, {n: random.uniform(-1, 1, s).astype(np.float32) for n, s in shapes.items()})


def test_scan_of_opset_8_runs_once_per_batch_element() -> None:
    """s = s + x along axis 1 of (batch, steps, 2); outputs 2 * s in each iteration."""
    nodes = [
        helper.make_node("Add", ["s", "x"], ["s_out"]),
        helper.make_node("Add", ["s_out", "s_out"], ["row"]),
    ]
    info, kind = helper.make_tensor_value_info, TensorProto.FLOAT
    body = helper.make_graph(
        nodes, "body", [info("s", kind, [2]), info("x", kind, [2])],
        [info("s_out", kind, [2]), info("row", kind, [2])],
    )  # fmt: skip
    whole = helper.make_node(
        "Scan", ["", "s0", "xs"], ["last", "rows"], num_scan_inputs=1, body=body
    )
    graph = helper.make_graph(
        [whole], "g", [info("s0", kind, [3, 2]), info("xs", kind, [3, 4, 2])],
        [info("last", kind, [3, 2]), info("rows", kind, [3, 4, 2])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=8)
    random = np.random.RandomState(0)
    check(model, {"s0": random.rand(3, 2).astype("f"), "xs": random.rand(3, 4, 2).astype("f")})


def test_recurrent_layer_with_400_steps_agrees_with_onnxruntime() -> None:
    model, given = layer("LSTM")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 400
    given["x"] = np.random.RandomState(1).rand(400, BATCH, INPUTS).astype(np.float32)
    check(model, given)


@pytest.mark.parametrize("steps", [0, 10**9])
def test_too_many_steps_are_refused_at_once(steps: int) -> None:
    model, _ = layer("GRU")
    with pytest.raises(UnsupportedOperatorError, match=r"node 'layer'.*1 to 10,000 are supported"):
        from_onnx(model, shape={"x": (steps, BATCH, INPUTS)})


def quantized_lstm(
    count: int, dtype: str, rows: bool, peephole: bool, states: bool
) -> tuple[Any, dict[str, np.ndarray]]:
    """A DynamicQuantizeLSTM, and values for its inputs.

    rows: whether each output has a scale.
    """
    random = np.random.RandomState(1)
    # 7-bit int8: without VNNI, sums of two products saturate in ONNX Runtime.
    least, most, middle = (-63, 63, 0) if dtype == "int8" else (0, 255, 128)
    scales = (count, 4 * HIDDEN) if rows else (count,)
    constants: dict[str, np.ndarray] = {
        "w": random.randint(least, most, (count, INPUTS, 4 * HIDDEN)).astype(dtype),
        "r": random.randint(least, most, (count, HIDDEN, 4 * HIDDEN)).astype(dtype),
        "b": random.uniform(-1, 1, (count, 8 * HIDDEN)).astype(np.float32),
    }
    for name in "wr":
        constants[f"{name}_scale"] = random.uniform(0.002, 0.01, scales).astype(np.float32)
        constants[f"{name}_zero"] = np.full(scales, middle, dtype)
    if peephole:
        constants["p"] = random.uniform(-1, 1, (count, 3 * HIDDEN)).astype(np.float32)
    given = {"x": random.uniform(-1, 1, (STEPS, BATCH, INPUTS)).astype(np.float32)}
    for name in ["h", "c"] * states:
        given[name] = random.uniform(-1, 1, (count, BATCH, HIDDEN)).astype(np.float32)
    order = ["x", "w", "r", "b", "", "h", "c", "p", "w_scale", "w_zero", "r_scale", "r_zero"]
    inputs = [n if n in given or n in constants else "" for n in order]
    node = helper.make_node(
        "DynamicQuantizeLSTM", inputs, ["y", "y_h", "y_c"], hidden_size=HIDDEN,
        direction="bidirectional" if count == 2 else "forward", domain="com.microsoft",
    )  # fmt: skip
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node], "net",
        [info(n, TensorProto.FLOAT, a.shape) for n, a in given.items()],
        [info(n, TensorProto.FLOAT, None) for n in node.output],
        [numpy_helper.from_array(a, n) for n, a in constants.items()],
    )  # fmt: skip
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=9), given


@pytest.mark.parametrize(
    ("count", "dtype", "rows", "peephole", "states"),
    [
        (1, "int8", False, False, False),
        (1, "int8", True, True, True),
        (2, "uint8", False, False, True),
    ],
)
def test_dynamically_quantized_lstm_equals_onnxruntime(
    count: int, dtype: str, rows: bool, peephole: bool, states: bool
) -> None:
    """With random values, and with zeros, whose range is empty."""
    model, given = quantized_lstm(count, dtype, rows, peephole, states)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # several would quantize parts of a batch separately
    runtime = onnxruntime.InferenceSession(model.SerializeToString(), options)
    mod, _ = from_onnx(model)
    for scale in (1, 0):
        feed = {name: scale * array for name, array in given.items()}
        found = byoc_lab.evaluate(mod, feed).outputs
        for ours, theirs in zip(found, runtime.run(None, feed), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
