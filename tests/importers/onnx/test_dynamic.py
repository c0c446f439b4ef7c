"""A model with several unknown dimensions: imported, partitioned and built, then run with any
sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import InferenceSession

import byoc_lab
from byoc_lab.errors import BuildError
from byoc_lab.importers.onnx import from_onnx

WIDTH, HEADS = 8, 2
FLOAT = TensorProto.FLOAT


def encoder() -> Any:
    """A transformer layer in PyTorch's export form: shapes are computed from the shape of x."""
    random = np.random.default_rng(0)
    node, arrays = helper.make_node, {}
    for name in ("wq", "wk", "wv", "wo"):
        arrays[name] = random.normal(size=(WIDTH, WIDTH)).astype("float32") / 3
    arrays |= {"scale": np.array(0.5, "float32"), "gamma": np.ones(WIDTH, "float32")}
    arrays |= {"tail": np.array([HEADS, WIDTH // HEADS]), "width": np.array([WIDTH])}
    nodes = [
        node("Shape", ["x"], ["batch"], start=0, end=1),
        node("Shape", ["x"], ["length"], start=1, end=2),
        node("Concat", ["batch", "length", "tail"], ["parted"], axis=0),
        node("Concat", ["batch", "length", "width"], ["whole"], axis=0),
    ]
    for one, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            node("MatMul", ["x", f"w{one}"], [f"{one}_flat"]),
            node("Reshape", [f"{one}_flat", "parted"], [f"{one}_parted"], allowzero=1),
            node("Transpose", [f"{one}_parted"], [one], perm=order),
        ]
    nodes += [
        node("MatMul", ["q", "k"], ["scores"], "scores"),
        node("Mul", ["scores", "scale"], ["scaled"]),
        node("Softmax", ["scaled"], ["weights"], axis=-1),
        node("MatMul", ["weights", "v"], ["mixed"]),
        node("Transpose", ["mixed"], ["turned"], perm=[0, 2, 1, 3]),
        node("Reshape", ["turned", "whole"], ["joined"], allowzero=1),
        node("MatMul", ["joined", "wo"], ["projected"]),
        node("Add", ["x", "projected"], ["sum"]),
        node("LayerNormalization", ["sum", "gamma"], ["y"], axis=-1),
    ]
    ends = [helper.make_tensor_value_info(n, FLOAT, ["batch", "length", WIDTH]) for n in "xy"]
    weights = [numpy_helper.from_array(a, n) for n, a in arrays.items()]
    graph = helper.make_graph(nodes, "encoder", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize("backend", [pytest.param(None, marks=pytest.mark.slow), "dnnl"])
def test_encoder_runs_with_unknown_batch_and_sequence_length(backend: str | None) -> None:
    model = encoder()
    session = InferenceSession(model.SerializeToString())
    mod, _ = from_onnx(model)
    assert "(?, ?, 8)" in str(mod["main"].ret_type)
    exe = byoc_lab.build(mod if backend is None else byoc_lab.trace(mod, backend).result)
    for shape in ((2, 5, WIDTH), (1, 1, WIDTH), (3, 7, WIDTH)):
        x = np.random.default_rng(1).normal(size=shape).astype("float32")
        (wanted,) = session.run(None, {"x": x})
        np.testing.assert_allclose(byoc_lab.evaluate(mod, [x]).value, wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(exe(x)[0], wanted, rtol=1e-4, atol=1e-5)
    if backend is not None:
        exe.assert_offloaded()


@pytest.mark.parametrize("given", [{"batch": 2}, {"length": 5}, {"batch": 2, "length": 5}], ids=str)
def test_encoder_with_a_given_sequence_length_computes_the_same(given: dict[str, int]) -> None:
    model = encoder()
    mod, _ = from_onnx(model, shape=given)
    x = np.random.default_rng(1).normal(size=(2, 5, WIDTH)).astype("float32")
    (wanted,) = InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(byoc_lab.evaluate(mod, [x]).value, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (["n", 3, 4], [2, 4, 5]),
        (["n", "m", 3, 4], [2, 4, 5]),
        ([2, 1, 3, "k"], ["n", "k", 5]),
        (["n", 1, 3, 4], ["n", 2, 4, 5]),
        ([2, 3, "n", 4], [2, 3, 4, "m"]),
        pytest.param(["n", "k"], ["m", "k", 5], marks=pytest.mark.slow),
        pytest.param(["n", 4], [3, 4, 5], marks=pytest.mark.slow),
        pytest.param([2, 3, "n", "k"], [2, 3, "k", 5], marks=pytest.mark.slow),
        pytest.param([2, 1, "n", 4], [2, 3, 4, 5], marks=pytest.mark.slow),
    ],
)
def test_matmul_of_batches_that_broadcast_at_run_time_equals_onnxruntime(
    left: list[Any], right: list[Any]
) -> None:
    """Dimensions of one operand may be 1 or equal the other's, known only at run time."""
    ends = [
        helper.make_tensor_value_info(n, FLOAT, shape) for n, shape in (("a", left), ("b", right))
    ]
    output = helper.make_tensor_value_info("y", FLOAT, None)
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "g", ends, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = InferenceSession(model.SerializeToString())
    mod, _ = from_onnx(model)
    exe = byoc_lab.build(mod)
    for lengths in ({"n": 2, "m": 2, "k": 4}, {"n": 1, "m": 2, "k": 4}):
        random = np.random.default_rng(0)
        data = {
            name: random.normal(size=[lengths.get(n, n) for n in shape]).astype("float32")
            for name, shape in (("a", left), ("b", right))
        }
        (wanted,) = session.run(None, data)
        for found in (byoc_lab.evaluate(mod, data).value, exe.run(data)[0]):
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "op, inputs, kind, value",
    [("Expand", ["one", "n"], "shape", [2, 3]), ("Range", ["zero", "n", "one"], "start", 4)],
)
def test_build_error_says_how_to_make_a_value_constant(
    op: str, inputs: list[str], kind: str, value: Any
) -> None:
    pytest.importorskip("tvm")
    value, integer = np.array(value), TensorProto.INT64
    numbers = [numpy_helper.from_array(np.array(i), n) for i, n in enumerate(("zero", "one"))]
    graph = helper.make_graph(
        [helper.make_node(op, inputs, ["y"])], "g",
        [helper.make_tensor_value_info("n", integer, value.shape)],
        [helper.make_tensor_value_info("y", integer, None)], numbers,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    words = rf"Relax, which requires .*constant {kind}.*, if they never change, .*--freeze on"
    with pytest.raises(BuildError, match=words):
        byoc_lab.build(from_onnx(model)[0])
    mod, _ = from_onnx(model, freeze={"n": value})
    wanted = InferenceSession(model.SerializeToString()).run(None, {"n": value})
    np.testing.assert_array_equal(byoc_lab.build(mod).run([])[0], wanted[0])
