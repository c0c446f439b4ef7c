"""Shapes and values that a user gives for model inputs, compared with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab.errors import ArgumentError, UnknownShapeError, UnsupportedOperatorError
from byoc_lab.importers import load
from byoc_lab.importers.onnx import from_onnx

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper as h  # noqa: E402
from onnx import numpy_helper as nh  # noqa: E402


def value(name, shape, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, constants=None, opset=17):
    tensors = [nh.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = h.make_graph(nodes, "net", inputs, outputs, tensors)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=9)


def framework(net, feed):
    return ort.InferenceSession(net.SerializeToString()).run(None, feed)


def two_inputs():
    node = h.make_node("Add", ["a", "b"], ["sum"])
    return model([node], [value("a", ["n", 3]), value("b", ["n", 3])], [value("sum", ["n", 3])])


def upsampled():
    """A resize to half the height and width, which Relay has to know."""
    node = h.make_node("Resize", ["v", "", "s"], ["r"], mode="linear")
    scales = {"s": np.array([1, 1, 0.5, 0.5], "float32")}
    return model([node], [value("v", ["batch", 3, "h", "w"])], [value("r", None)], scales)


def test_named_dimension_is_given_once_for_all_inputs():
    mod, _ = from_onnx(two_inputs(), shape={"n": 2})
    assert [tuple(p.checked_type.shape) for p in mod["main"].params] == [(2, 3), (2, 3)]


def test_shape_of_an_input_overrides_a_named_dimension():
    mod, _ = from_onnx(two_inputs(), shape={"a": (1, 3), "n": 4})
    assert [tuple(p.checked_type.shape) for p in mod["main"].params] == [(1, 3), (4, 3)]


def test_named_dimension_leaves_the_others_dynamic():
    net = model([h.make_node("Relu", ["v"], ["r"])], [value("v", ["n", "m"])], [value("r", None)])
    shape = from_onnx(net, shape={"m": 5})[0]["main"].ret_type.shape
    assert not isinstance(shape[0], int) and shape[1] == 5


@pytest.mark.parametrize(
    "shape, words",
    [
        ({"q": (2, 3)}, "shape names 'q'"),
        ({"n": (2, 3)}, "'n' is the name of one size"),
        ({"a": "2,3"}, "shape must be a dict"),
        (
            {"a": (2, 3, 4)},
            r"the input 'a' 3 sizes, \(2, 3, 4\); the model has 2, \(n, 3\)",
        ),
        ({"b": (3,)}, "the input 'b' 1 size"),
    ],
)
def test_shapes_that_the_model_lacks_are_refused(shape, words):
    with pytest.raises(ArgumentError, match=words):
        from_onnx(two_inputs(), shape=shape)


def test_shape_suggested_by_an_error_imports_and_agrees_with_the_framework():
    net = upsampled()
    with pytest.raises(UnknownShapeError) as caught:
        from_onnx(net)
    guess = caught.value.shape
    assert guess == {"v": (1, 3, 224, 224)}
    assert str(guess) in str(caught.value)
    image = np.random.default_rng(0).normal(size=guess["v"]).astype("float32")
    mod, _ = from_onnx(net, shape=guess)
    found = byoc_lab.evaluate(mod, {"v": image}).outputs[0]
    np.testing.assert_allclose(found, framework(net, {"v": image})[0], atol=1e-6)


def test_unsupported_operator_error_suggests_no_shapes():
    net = model(
        [h.make_node("StringNormalizer", ["v"], ["r"])], [value("v", ["n"])], [value("r", None)]
    )
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_onnx(net)
    assert not isinstance(caught.value, UnknownShapeError)
    # Exporters do not misspell operators, so a similar name means an operator of another domain.
    assert "did you mean" not in str(caught.value)


def test_frozen_input_is_a_constant_and_agrees_with_the_framework():
    net = two_inputs()
    feed = {n: np.full((2, 3), i + 1, "float32") for i, n in enumerate("ab")}
    mod, _ = from_onnx(net, {"n": 2}, freeze={"b": feed["b"]})
    assert [p.name_hint for p in mod["main"].params] == ["a"]
    found = byoc_lab.evaluate(mod, {"a": feed["a"]}).outputs[0]
    np.testing.assert_array_equal(found, framework(net, feed)[0])


@pytest.mark.parametrize(
    "freeze, words",
    [({"q": 1}, "freeze names 'q'"), ({"b": np.ones(4)}, "shape"), ({"b": "x"}, "not a value")],
)
def test_frozen_values_that_do_not_fit_are_refused(freeze, words):
    with pytest.raises((ArgumentError, UnsupportedOperatorError), match=words):
        from_onnx(two_inputs(), {"n": 2}, freeze=freeze)


def branches():
    """One branch that reads 2 dimensions and one that reads any number of them."""
    then = h.make_graph(
        [h.make_node("ReduceMean", ["v"], ["a"], keepdims=0)], "t", [], [value("a", [])]
    )
    steps = [
        h.make_node("Transpose", ["v"], ["k"], perm=[1, 0]),
        h.make_node("ReduceMax", ["k"], ["b"], keepdims=0),
    ]
    other = h.make_graph(steps, "e", [], [value("b", [])])
    choice = h.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    inputs = [value("c", [], T.BOOL), value("v", ["n", "m", "k"])]
    return model([choice], inputs, [value("y", [])])


def test_frozen_condition_imports_the_branch_that_it_takes():
    image = np.arange(6, dtype="float32").reshape(1, 2, 3)
    mod, _ = from_onnx(branches(), {"v": (1, 2, 3)}, freeze={"c": True})
    assert byoc_lab.evaluate(mod, {"v": image}).outputs[0] == image.mean()


def test_error_in_a_branch_names_the_branch_and_the_condition():
    with pytest.raises(UnsupportedOperatorError, match=r"else branch.*'c' is always true"):
        from_onnx(branches(), {"v": (1, 2, 3)})


@pytest.mark.parametrize("batch, length", [(1, 1), (2, 5)])
def test_allowzero_with_two_unknown_dimensions_agrees_with_the_framework(batch, length):
    nodes = [
        h.make_node("Shape", ["v"], ["b"], start=0, end=1),
        h.make_node("Shape", ["v"], ["s"], start=1, end=2),
        h.make_node("Concat", ["b", "s", "tail"], ["dims"], axis=0),
        h.make_node("Reshape", ["v", "dims"], ["heads"], allowzero=1),
    ]
    shape, tail = ["batch", "seq", 8], {"tail": np.array([2, 4], "int64")}
    net = model(nodes, [value("v", shape)], [value("heads", None)], tail)
    feed = {"v": np.random.default_rng(1).normal(size=(batch, length, 8)).astype("float32")}
    mod, _ = from_onnx(net)
    (wanted,) = framework(net, feed)
    np.testing.assert_array_equal(byoc_lab.evaluate(mod, feed).outputs[0], wanted)
    static, _ = from_onnx(net, {"batch": batch, "seq": length})
    assert tuple(static["main"].ret_type.shape) == wanted.shape
    pytest.importorskip("tvm")
    np.testing.assert_array_equal(byoc_lab.build(static).run(feed)[0], wanted)


TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(?, 3), float32]) { nn.relu(add(%x, %y)) }
"""


def test_every_importer_takes_shapes_and_values(tmp_path):
    path = tmp_path / "net.relay"
    path.write_text(TEXT)
    mod, _ = load(path, {"x": (2, 3)}, {"y": np.ones((2, 3))})
    assert [p.name_hint for p in mod["main"].params] == ["x"]
    assert tuple(mod["main"].ret_type.shape) == (2, 3)
    with pytest.raises(ArgumentError, match="shape names 'batch'"):
        load(path, {"batch": 2})
    with pytest.raises(ArgumentError, match="freeze names 'z'"):
        load(path, freeze={"z": 2})


def test_pytorch_program_with_a_dynamic_batch_takes_a_shape():
    torch = pytest.importorskip("torch")
    from byoc_lab.importers.pytorch import from_pytorch

    net, x = torch.nn.Linear(3, 4).eval(), torch.randn(2, 3)
    batch = torch.export.Dim("batch")
    program = torch.export.export(net, (x,), dynamic_shapes=({0: batch},))
    mod, _ = from_pytorch(program, shape={"input": (5, 3)})
    assert tuple(mod["main"].ret_type.shape) == (5, 4)
    given = torch.randn(5, 3)
    found = byoc_lab.evaluate(mod, [given.numpy()]).outputs[0]
    np.testing.assert_allclose(found, net(given).detach().numpy(), atol=1e-6)
