"""Sequences of tensors, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import byoc_lab
from byoc_lab.errors import UnsupportedOperatorError
from byoc_lab.importers.onnx import from_onnx

X = np.arange(24, dtype=np.float32).reshape(4, 6)


def _model(nodes: list[Any], constants: dict[str, Any]) -> Any:
    """The nodes are (operator, inputs, output, attributes); x is the input, y the output."""
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
def test_results_are_those_of_onnx_runtime(nodes: list[Any], constants: dict[str, Any]) -> None:
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


def test_a_sequence_is_no_tensor() -> None:
    nodes: list[Any] = [("SequenceConstruct", "x,x", "s", {}), ("Relu", "s", "y", {})]
    with pytest.raises(UnsupportedOperatorError, match=r"operator Relu.*input 0 is a sequence"):
        from_onnx(_model(nodes, {}))
    with pytest.raises(UnsupportedOperatorError, match=r"operator SequenceLength.*is a tensor"):
        from_onnx(_model([("SequenceLength", "x", "y", {})], {}))
