"""Sequences of tensors equal ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import byoc_lab
from byoc_lab.errors import ArgumentError, UnsupportedOperatorError
from byoc_lab.importers.onnx import from_onnx

X = np.arange(24, dtype=np.float32).reshape(4, 6)


def _model(nodes: list[Any], constants: dict[str, Any]) -> Any:
    """A model of nodes (operator, inputs, output, attributes) with input x and output y."""
    made = [helper.make_node(op, i.split(","), [o], **a) for op, i, o, a in nodes]
    graph = helper.make_graph(
        made,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 6])],
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()],
    )
    graph.output[0].ClearField("type")
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("nodes", "constants"),
    [
        (
            [("SplitToSequence", "x,n", "s", {"axis": 1}), ("SequenceAt", "s,i", "y", {})],
            {"n": 4, "i": -1},
        ),
        (
            [("SplitToSequence", "x,n", "s", {}), ("SequenceAt", "s,i", "y", {})],
            {"n": [1, 3], "i": 1},
        ),
        (
            [("SplitToSequence", "x", "s", {"keepdims": 0}), ("SequenceAt", "s,i", "y", {})],
            {"i": 2},
        ),
        (
            [
                ("SequenceConstruct", "x,x", "s", {}),
                ("Neg", "x", "m", {}),
                ("SequenceInsert", "s,m,i", "t", {}),
                ("SequenceErase", "t,j", "u", {}),
                ("ConcatFromSequence", "u", "y", {"axis": 1}),
            ],
            {"i": 1, "j": 0},
        ),
        (
            [
                ("SequenceEmpty", "", "s", {}),
                ("SequenceInsert", "s,x", "t", {}),
                ("SequenceInsert", "t,x", "u", {}),
                ("ConcatFromSequence", "u", "y", {"axis": 0, "new_axis": 1}),
            ],
            {},
        ),
        ([("SplitToSequence", "x", "s", {}), ("SequenceLength", "s", "y", {})], {}),
    ],
)
def test_sequence_operators_equal_onnxruntime(nodes: list[Any], constants: dict[str, Any]) -> None:
    nodes = [(op, i, o, a) for op, i, o, a in nodes]
    model = _model(nodes, constants)
    for node in model.graph.node:
        if list(node.input) == [""]:
            del node.input[:]
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (wanted,) = session.run(None, {"x": X})
    found = byoc_lab.evaluate(from_onnx(model)[0], [X]).value
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_sequence_in_place_of_a_tensor_is_refused() -> None:
    nodes: list[Any] = [("SequenceConstruct", "x,x", "s", {}), ("Relu", "s", "y", {})]
    with pytest.raises(UnsupportedOperatorError, match=r"operator Relu.*input 0 is a sequence"):
        from_onnx(_model(nodes, {}))
    with pytest.raises(UnsupportedOperatorError, match=r"operator SequenceLength.*is a tensor"):
        from_onnx(_model([("SequenceLength", "x", "y", {})], {}))


def _of_sequence() -> Any:
    """ConcatFromSequence of a model input that is a sequence of float32 tensors."""
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    node = helper.make_node("ConcatFromSequence", ["xs"], ["y"], axis=0)
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [helper.make_value_info("xs", kind)], [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_input_sequence_becomes_one_parameter_per_element() -> None:
    mod, _ = from_onnx(_of_sequence(), shape={"xs": [(2, 6), (1, 6)]})
    assert [p.name_hint for p in mod["main"].params] == ["xs_0", "xs_1"]
    found = byoc_lab.evaluate(mod, [X[:2], X[:1]]).value
    np.testing.assert_array_equal(found, np.concatenate([X[:2], X[:1]]))


def test_input_sequence_without_shapes_of_its_elements_is_refused() -> None:
    with pytest.raises(UnsupportedOperatorError, match="give the shape of each element"):
        from_onnx(_of_sequence())
    with pytest.raises(ArgumentError, match="give a list with the shape of each element"):
        from_onnx(_of_sequence(), shape={"xs": (2, 3)})
    tensor = _model([("Relu", "x", "y", {})], {})
    with pytest.raises(ArgumentError, match="give one shape"):
        from_onnx(tensor, shape={"x": [(2, 3)]})
