"""Quantized operators round halves to even, as ONNX Runtime and PyTorch do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import UnsupportedOperatorError
from byoc_lab.importers.onnx import from_onnx
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.qnn.transform import CanonicalizeOps
from byoc_lab.relay.text.json.reader import read_node_json
from byoc_lab.relay.text.json.writer import write_node_json
from byoc_lab.transform import FakeQuantizationToInteger, InferType
from tests.sweeps import some

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper as h  # noqa: E402
from onnx import numpy_helper as nh  # noqa: E402

TIES = np.array([-3.5, -2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, 3.5, 126.5, 254.5], "float32")
ODD = np.array([1e-40, -1e-40, 3e38, -3e38, 0.49999997, -0.49999997, 2.5000002], "float32")
MICROSOFT = "com.microsoft"
X = np.arange(24, dtype="uint8").reshape(1, 6, 2, 2)
ONE, TWO, ZERO = np.float32(1), np.float32(2), np.uint8(4)
PAIR = [X, ONE, ZERO, X[:, ::-1].copy(), np.float32(0.5), ZERO, TWO, ZERO]
BY_PARTS = [X, ONE, ZERO, TWO, ZERO]
MORE: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "QLinearAdd": (PAIR, {}),
    "QLinearMul": (PAIR, {}),
    "QLinearLeakyRelu": (BY_PARTS, {"alpha": 0.5}),
    "QLinearSigmoid": ([X, ONE, ZERO, np.float32(2**-10), ZERO], {}),
    "QLinearSoftmax": ([X, ONE, ZERO, np.float32(2**-8), ZERO], {"opset": 13}),
    "QLinearAveragePool": (BY_PARTS, {"kernel_shape": [1, 1]}),
    "QLinearGlobalAveragePool": (BY_PARTS, {}),
    "QLinearConcat": ([TWO, ZERO, X, ONE, ZERO, X[:, :2], TWO, ZERO], {"axis": 1}),
    "QLinearWhere": ([X % 2 == 0, *PAIR], {}),
}
"""Arguments and attributes; results before rounding are halves if the operator can give them."""


def node(op: str, arguments: list[Any], out: str, **attrs: Any) -> Any:
    """A model of one node, and its input: the first tensor; the other tensors are constants."""
    arrays = {f"a{n}": np.asarray(a) for n, a in enumerate(arguments)}
    kind = {"float32": T.FLOAT, "uint8": T.UINT8, "int8": T.INT8, "bool": T.BOOL}
    first = next(n for n, a in arrays.items() if a.ndim)
    given = {first: arrays[first]}
    domain = MICROSOFT if op in MORE else ""
    graph = h.make_graph(
        [h.make_node(op, list(arrays), ["y"], domain=domain, **attrs)], "net",
        [h.make_tensor_value_info(first, kind[arrays[first].dtype.name], arrays[first].shape)],
        [h.make_tensor_value_info("y", kind[out], None)],
        [nh.from_array(a, n) for n, a in arrays.items() if n not in given],
    )  # fmt: skip
    sets = [h.make_opsetid("", 21 if "block_size" in attrs else 17), h.make_opsetid(MICROSOFT, 1)]
    return h.make_model(graph, opset_imports=sets, ir_version=9), given


def everywhere(net: Any, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Asserts that ONNX Runtime, the reference, both lowerings, LLVM and DNNL give equal
    outputs."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(net.SerializeToString(), options)
    mod, params = from_onnx(net)
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    mod = InferType()(mod)
    found = {"runtime": session.run(None, feed)[0], "reference": of(byoc_lab.evaluate(mod, feed))}
    found["canonical"] = of(byoc_lab.evaluate(CanonicalizeOps()(mod), feed))
    found["llvm"] = of(byoc_lab.build(mod, offload=False).run(feed), True)
    cut = byoc_lab.trace(mod, "dnnl").result
    assert len(cut.functions) > 1
    found["dnnl"] = of(byoc_lab.build(cut).run(feed), True)
    return found


def of(result: Any, built: bool = False) -> np.ndarray:
    outputs = result if built else result.outputs
    return np.asarray(outputs[0])


def check(net: Any, feed: dict[str, np.ndarray]) -> None:
    found = everywhere(net, feed)
    for name, value in found.items():
        np.testing.assert_array_equal(value, found["runtime"], err_msg=name)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("zero", [0, 3, 100])
def test_quantize_rounds_halves_to_even(dtype: str, zero: int) -> None:
    data = np.concatenate([TIES, ODD])
    check(*node("QuantizeLinear", [data, np.float32(1), np.array(zero, dtype)], dtype))


def test_quantize_per_channel_agrees_with_onnxruntime() -> None:
    data = np.tile(TIES, (2, 1)) * np.array([[1.0], [0.5]], "float32")
    scale, zero = np.array([1, 0.5], "float32"), np.array([0, 7], "int8")
    check(*node("QuantizeLinear", [data, scale, zero], "int8", axis=0))


SCALES = np.array([[0.5, 1.0], [2.0, 0.25]], "float32")
ZEROS = np.array([[0, 3], [-7, 100]], "int8")
EIGHT = np.linspace(-128, 127, 16).astype("int8").reshape(2, 8)
BLOCKED: list[tuple[str, list[Any], str, int]] = [
    ("QuantizeLinear", [np.resize(TIES, (2, 8)), SCALES, ZEROS], "int8", 4),
    ("QuantizeLinear", [np.resize(TIES, (2, 7)), SCALES, ZEROS], "int8", 4),
    ("DequantizeLinear", [EIGHT, SCALES, ZEROS], "float32", 4),
    ("DequantizeLinear", [np.ascontiguousarray(EIGHT[:, :5]), SCALES], "float32", 3),
]


@pytest.mark.parametrize("op, arguments, out, size", BLOCKED)
def test_scale_per_block_agrees_with_onnxruntime(
    op: str, arguments: list[Any], out: str, size: int
) -> None:
    net, feed = node(op, arguments, out, axis=1, block_size=size)
    wanted = ort.InferenceSession(net.SerializeToString()).run(None, feed)[0]
    np.testing.assert_array_equal(of(byoc_lab.evaluate(from_onnx(net)[0], feed)), wanted)


def test_blocks_that_do_not_cover_the_axis_are_refused() -> None:
    net, _ = node("DequantizeLinear", [EIGHT, SCALES], "float32", axis=1, block_size=3)
    with pytest.raises(UnsupportedOperatorError, match=r"2 blocks of 3 .* size 8; 3 blocks are"):
        from_onnx(net)


@settings(max_examples=some(3))
@given(seed=st.integers(0, 2**16), shift=st.integers(1, 4), zero=st.integers(-5, 5))
def test_matmuls_round_halves_to_even(seed: int, shift: int, zero: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 9, (30, 6)).astype("uint8")
    b = rng.integers(-4, 5, (6, 5)).astype("int8")
    one, out = np.float32(1), np.float32(2.0**shift)
    zeros = np.uint8(2), np.int8(0), np.array(zero + 5, "uint8")
    arguments = [a, one, zeros[0], b, one, zeros[1], out, zeros[2]]
    check(*node("QLinearMatMul", arguments, "uint8"))


@settings(max_examples=some(3))
@given(seed=st.integers(0, 2**16), shift=st.integers(1, 4))
def test_convolutions_round_halves_to_even(seed: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, (4, 3, 5, 5)).astype("uint8")
    w = rng.integers(-4, 5, (4, 3, 3, 3)).astype("int8")
    bias = rng.integers(-20, 20, 4).astype("int32")
    one, out, zero = np.float32(1), np.float32(2.0**shift), np.uint8(0)
    arguments = [x, one, zero, w, one, np.int8(0), out, np.uint8(3), bias]
    check(*node("QLinearConv", arguments, "uint8"))


@pytest.mark.parametrize("op", MORE)
def test_elementwise_functions_round_halves_to_even(op: str) -> None:
    arguments, attrs = MORE[op]
    check(*node(op, arguments, "uint8", **attrs))


def test_rounding_attribute_survives_text_and_json() -> None:
    data = relay.var("x", shape=(4,))
    made = relay.qnn.op.quantize(data, relay.const(1.0), relay.const(0), rounding="TOEVEN")
    mod = InferType()(relay.IRModule.from_expr(made))
    assert 'rounding="TOEVEN"' in str(mod)
    assert relay.structural_equal(relay.parse(mod.astext()), mod)
    assert relay.structural_equal(read_node_json(write_node_json(mod)), mod)
    plain = relay.qnn.op.quantize(data, relay.const(1.0), relay.const(0), rounding="TONEAREST")
    assert "rounding" not in str(plain) and "rounding" not in plain.attrs
    assert plain.attrs.rounding == "TONEAREST"


def test_fake_quantization_to_integer_keeps_the_rounding() -> None:
    x = relay.var("x", shape=(1, 8), dtype="int8")
    real = relay.qnn.op.dequantize(x, relay.const(1.0), relay.const(0))
    kept = relay.reshape(real, newshape=(8,))
    made = relay.qnn.op.quantize(
        kept, relay.const(2.0), relay.const(0), out_dtype="int8", rounding="TOEVEN"
    )
    mod = InferType()(relay.IRModule.from_expr(made))
    whole = FakeQuantizationToInteger()(mod)
    operators = [n.op_name for n in post_order(whole["main"]) if isinstance(n, Call)]
    assert operators == ["reshape", "qnn.requantize"]
    data = [np.arange(-4, 4, dtype="int8").reshape(1, 8)]
    want = np.array([-2, -2, -1, 0, 0, 0, 1, 2], "int8")
    for each in (mod, whole, CanonicalizeOps()(whole)):
        np.testing.assert_array_equal(of(byoc_lab.evaluate(each, data)), want)
    built = byoc_lab.build(byoc_lab.trace(whole, "dnnl").result)
    np.testing.assert_array_equal(of(built.run(data), True), want)
