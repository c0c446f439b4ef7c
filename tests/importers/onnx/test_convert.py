"""from_onnx: its arguments, results and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import byoc_lab
from byoc_lab import importers, relay
from byoc_lab.errors import (
    ArgumentError,
    AttributeValueError,
    ImporterError,
    UnsupportedOperatorError,
)
from byoc_lab.importers.onnx import from_onnx
from byoc_lab.relay.ir.visit import post_order

from .models import MODELS, Builder, random_input, save


def _input_type(mod: relay.IRModule, index: int = 0) -> str:
    return str(mod["main"].params[index].checked_type)


def _one_relu(name: str = "x", shape: Any = (2, 3), elem_type: int = TensorProto.FLOAT) -> Any:
    graph = helper.make_graph(
        [helper.make_node("Relu", [name], ["y"])],
        "g",
        [helper.make_tensor_value_info(name, elem_type, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_path_bytes_and_proto_give_the_same_module(tmp_path: Path) -> None:
    model, path = MODELS["residual"](), tmp_path / "network.onnx"
    save(model, path)
    mods = [from_onnx(m)[0] for m in (model, str(path), path, path.read_bytes())]
    mods += [importers.load(path)[0], relay.frontend.from_onnx(path)[0]]
    assert all(relay.structural_equal(mods[0], mod) for mod in mods[1:])


@pytest.mark.parametrize("name", MODELS)
def test_parameters_that_are_not_frozen_compute_the_same(name: str) -> None:
    model = MODELS[name]()
    x = random_input(model)
    mod, params = from_onnx(model, freeze_params=False)
    names = [p.name_hint for p in mod["main"].params]
    assert names[0] == "x" and set(names[1:]) == set(params) and params
    frozen, none = from_onnx(model)
    assert not none
    ours, theirs = (
        byoc_lab.evaluate(m, {"x": x, **p}).value for m, p in ((mod, params), (frozen, {}))
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_dynamic_batch_is_any_unless_a_shape_is_given(name: str) -> None:
    model = MODELS[name]()
    x = random_input(model)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    mod, _ = from_onnx(model)
    assert _input_type(mod).startswith("Tensor[(?, ")
    bound, _ = from_onnx(model, shape={"x": x.shape})
    assert relay.structural_equal(bound, from_onnx(MODELS[name]())[0])
    ours, theirs = (byoc_lab.evaluate(m, [x]).value for m in (mod, bound))
    np.testing.assert_array_equal(ours, theirs)


def test_given_shape_may_contain_any() -> None:
    mod, _ = from_onnx(_one_relu(), shape={"x": (relay.Any(), 7)})
    assert _input_type(mod) == "Tensor[(?, 7), float32]"


def test_dtype_argument_applies_to_inputs_without_a_type() -> None:
    assert _input_type(from_onnx(_one_relu(), dtype="float64")[0]) == "Tensor[(2, 3), float32]"
    untyped = _one_relu(elem_type=TensorProto.UNDEFINED)
    assert _input_type(from_onnx(untyped)[0]) == "Tensor[(2, 3), float32]"
    assert _input_type(from_onnx(untyped, dtype="float64")[0]) == "Tensor[(2, 3), float64]"
    assert _input_type(from_onnx(_one_relu(), dtype={"x": "int8"})[0]) == "Tensor[(2, 3), int8]"


def test_opset_argument_replaces_the_model_s_opset() -> None:
    """Softmax without an axis: over the second axis before opset 13, over the last one since."""
    b = Builder(opset=13)
    model = b.model(b.call("Softmax", "x"), shape=(2, 3, 1))
    assert "axis=2" in str(from_onnx(model)[0]) or "axis=-1" in str(from_onnx(model)[0])
    assert "axis=1" in str(from_onnx(model, opset=11)[0])


def test_batch_matmul_stays_untransposed_on_request() -> None:
    text = str(from_onnx(MODELS["attention"](), convert_config={"use_nt_batch_matmul": False})[0])
    assert "transpose_b=True" not in text
    assert "transpose_b=True" in str(from_onnx(MODELS["attention"]())[0])


def test_initializers_listed_as_inputs_are_parameters() -> None:
    """Models before IR version 4 list them."""
    model = MODELS["residual"]()
    weights = model.graph.initializer
    infos = [helper.make_tensor_value_info(w.name, w.data_type, w.dims) for w in weights]
    model.graph.input.extend(infos)
    assert relay.structural_equal(from_onnx(model)[0], from_onnx(MODELS["residual"]())[0])
    mod, params = from_onnx(model, freeze_params=False)
    assert len(mod["main"].params) == 1 + len(infos) and len(params) == len(infos)


def test_spans_name_the_onnx_nodes() -> None:
    mod, _ = from_onnx(MODELS["residual"]())
    nodes = [n for n in post_order(mod["main"].body) if not isinstance(n, relay.Op)]
    convs = [n for n in nodes if isinstance(n, relay.Call) and n.op.name == "nn.conv2d"]
    assert [str(c.span) for c in convs] == ["conv_3", "conv_11"]
    assert all(n.span is not None for n in nodes)
    assert str(mod["main"].params[0].span) == "x"


def test_span_has_the_node_s_name_or_that_of_its_output() -> None:
    model = _one_relu()
    (node,) = model.graph.node
    node.name = "the_relu"
    mod, _ = from_onnx(model)
    assert str(mod["main"].body.span) == "the_relu"
    node.name = ""
    assert str(from_onnx(model)[0]["main"].body.span) == "y"


@pytest.mark.parametrize("name", ["x:0", "input.1", "a b", "1", "é", 'a"b', "a/b-c", "%x", "a\nb"])
def test_module_with_any_input_name_can_be_printed_and_parsed(name: str) -> None:
    mod, _ = from_onnx(_one_relu(name))
    assert relay.structural_equal(relay.parse(mod.astext()), mod)
    assert byoc_lab.evaluate(mod, {name: np.ones((2, 3), "float32")}).value.sum() == 6


def test_value_defined_twice_is_refused() -> None:
    model = _one_relu()
    model.graph.node.extend([model.graph.node[0]])
    with pytest.raises(ImporterError, match="'y', which is already defined"):
        from_onnx(model)


def test_nodes_may_share_a_name() -> None:
    b = Builder()
    y = b.call("Relu", b.call("Neg", "x"))
    model = b.model(y)
    for node in model.graph.node:
        node.name = "same"
    mod, _ = from_onnx(model)
    assert "nn.relu" in str(mod)


def test_unsupported_operator_error_names_node_and_opset() -> None:
    b = Builder()
    model = b.model(b.call("Bernoulli", b.call("Relu", "x")))
    with pytest.raises(UnsupportedOperatorError) as raised:
        from_onnx(model)
    assert "node 'bernoulli_2', operator Bernoulli, opset 17" in str(raised.value)


def test_all_unsupported_operators_are_named_in_one_error() -> None:
    model = _one_relu()
    model.graph.node.extend(
        [
            helper.make_node("Mystery", ["x"], ["z"], domain="mine"),
            helper.make_node("Bernoulli", ["x"], ["d"]),
        ]
    )
    with pytest.raises(UnsupportedOperatorError, match=r"operators Bernoulli, mine\.Mystery are"):
        from_onnx(model)


def test_function_defined_in_the_model_is_inlined() -> None:
    """A model may define its own operators as functions of nodes."""
    body = [helper.make_node("Relu", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    function = helper.make_function("mine", "ReluNeg", ["a"], ["b"], body, opsets[:1])
    graph = helper.make_graph(
        [helper.make_node("ReluNeg", ["x"], ["y"], domain="mine")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
    )
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=8)
    x = np.array([-1, 0, 2], "float32")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    mod, _ = from_onnx(model)
    np.testing.assert_array_equal(byoc_lab.evaluate(mod, [x]).value, session.run(None, {"x": x})[0])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"shape": {"y": (1,)}}, ArgumentError, "'y', which is neither an input .* there are x"),
        ({"shape": [1]}, ArgumentError, "shape must be a dict"),
        ({"shape": {"x": "abc"}}, ArgumentError, "shape must be a dict"),
        ({"dtype": 3}, ArgumentError, "dtype must be a name"),
        ({"dtype": "flaot32"}, AttributeValueError, "did you mean 'float32'"),
        ({"opset": "11"}, ArgumentError, "opset must be an int"),
        ({"opset": 99}, ImporterError, "supported are 1 to 21"),
        ({"convert_config": {"x": 1}}, ArgumentError, "no setting 'x'"),
        ({"shape": {"x": (1, 4, 16, 16)}}, UnsupportedOperatorError, "node 'conv_3', .*channels"),
    ],
)
def test_invalid_arguments_are_refused(
    arguments: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        from_onnx(MODELS["residual"](), **arguments)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("Convv", "did you mean 'Conv'?"),
        ("GatherNd", "did you mean 'GatherND'?"),
        ("NonMaxSupression", "did you mean 'NonMaxSuppression'?"),
        ("SequenceMap", None),  # exists in ONNX, unlike SequenceAt
        ("Frobnicate", None),
    ],
)
def test_misspelt_operator_error_suggests_a_name(written: str, hint: str | None) -> None:
    model = _one_relu()
    model.graph.node[0].op_type = written
    with pytest.raises(UnsupportedOperatorError) as found:
        from_onnx(model)
    message = str(found.value)
    assert (hint in message) if hint else ("did you mean" not in message)


def test_undefined_value_is_named_in_the_error() -> None:
    model = _one_relu()
    model.graph.node[0].input[0] = "absent"
    with pytest.raises(ImporterError, match="'absent', which no input, initializer or earlier"):
        from_onnx(model)


def test_network_of_many_nodes_is_imported_in_linear_time() -> None:
    b = Builder()
    weight = b.constant(np.ones(4, np.float32))
    x = "x"
    for _ in range(5_000):
        x = b.call("Add", x, weight)
    graph = helper.make_graph(
        b.nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [4])],
        b.weights,
    )
    mod, _ = from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    assert byoc_lab.evaluate(mod, [np.zeros(4, "float32")]).value.tolist() == [5000.0] * 4


def test_dynamic_batch_through_computed_shapes_leaves_other_dimensions_known() -> None:
    """PyTorch exports x.view(x.shape[0], 5, 4, 8) in this form."""
    b = Builder()
    batch = b.call("Gather", b.call("Shape", "x"), b.constant(np.array(0)), axis=0)
    row = b.call("Unsqueeze", batch, b.constant(np.array([0])))
    shape = b.call("Concat", row, b.constant(np.array([5, 4, 8])), axis=0)
    heads = b.call("Transpose", b.call("Reshape", "x", shape), perm=[0, 2, 1, 3])
    scores = b.call("MatMul", heads, b.call("Transpose", heads, perm=[0, 1, 3, 2]))
    token = b.call("Expand", b.weight(1, 4, 1, 5), b.call("Shape", scores))
    joined = b.call("Add", scores, token)
    model = b.model(joined, shape=("batch", 5, 32))
    mod, _ = from_onnx(model)
    assert str(mod["main"].ret_type) == "Tensor[(?, 4, 5, 5), float32]"
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for size in (1, 3):
        x = np.random.RandomState(size).uniform(-1, 1, (size, 5, 32)).astype(np.float32)
        found = byoc_lab.evaluate(mod, [x]).value
        np.testing.assert_allclose(found, session.run(None, {"x": x})[0], rtol=1e-4, atol=1e-5)


def test_same_padding_of_a_dynamic_batch_has_a_static_size() -> None:
    b = Builder()
    y = b.call("Conv", "x", b.weight(4, 3, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2])
    mod, _ = from_onnx(b.model(y, shape=("batch", 3, 7, 8)))
    assert str(mod["main"].ret_type) == "Tensor[(?, 4, 4, 4), float32]"
