"""ONNX files: external data, damaged files, and hostile contents; each fault raises a typed
error."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from byoc_lab import relay
from byoc_lab.errors import ByocLabError, ImporterError, UnreadableFileError
from byoc_lab.importers.onnx import from_onnx
from tests.sweeps import some

from .models import MODELS, Builder


def test_external_data_beside_the_model_is_read(tmp_path: Path) -> None:
    model, path = MODELS["residual"](), tmp_path / "big.onnx"
    wanted = from_onnx(model)[0]
    onnx.save_model(
        model, str(path), save_as_external_data=True, location="big.data", size_threshold=0
    )
    assert (tmp_path / "big.data").stat().st_size > 1000
    assert relay.structural_equal(from_onnx(path)[0], wanted)
    data = (tmp_path / "big.data").read_bytes()
    (tmp_path / "big.data").write_bytes(data[: len(data) // 2])
    with pytest.raises(ImporterError):
        from_onnx(path)
    (tmp_path / "big.data").unlink()
    with pytest.raises(ImporterError, match=r"external files, which cannot be read"):
        from_onnx(path)


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "a/../../secret"])
def test_external_data_outside_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "secret").write_bytes(bytes(4096))
    (tmp_path / "models").mkdir()
    model = MODELS["residual"]()
    (weight, *_) = model.graph.initializer
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=location)
    path = tmp_path / "models" / "hostile.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ImporterError, match="external files"):
        from_onnx(path)


def test_proto_with_external_data_names_the_file_to_import() -> None:
    model = MODELS["residual"]()
    (weight, *_) = model.graph.initializer
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="weights.bin")
    with pytest.raises(ImporterError, match=r"weights\.bin"):
        from_onnx(model)


def test_invalid_model_raises_error_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ImporterError, match="not an ONNX model, or truncated"):
        from_onnx(b"\xff\xff\xff\xff")
    for empty in (b"", onnx.ModelProto()):
        with pytest.raises(ImporterError, match="no graph with outputs"):
            from_onnx(empty)
    with pytest.raises(ImporterError, match="found int"):
        from_onnx(3)
    with pytest.raises(UnreadableFileError, match="No such file"):
        from_onnx(tmp_path / "absent.onnx")
    with pytest.raises(UnreadableFileError, match="Is a directory"):
        from_onnx(tmp_path)


def _with_weight(tensor: Any) -> Any:
    b = Builder()
    b.weights.append(tensor)
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", tensor.name], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [tensor],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize("dims", [[3], [2, 2], [-2], [2**40], [2**62, 4], [2**31, 2**31, 2**31]])
def test_tensor_whose_data_does_not_fit_its_shape_is_refused(dims: list[int]) -> None:
    tensor = numpy_helper.from_array(np.ones(2, np.float32), "w")
    del tensor.dims[:]
    tensor.dims.extend(dims)
    with pytest.raises(ImporterError, match="tensor 'w'"):
        from_onnx(_with_weight(tensor))


@pytest.mark.parametrize(
    ("op", "constants", "attributes"),
    [
        ("ConstantOfShape", [[2**40]], {}),
        ("ConstantOfShape", [[-5]], {}),
        ("Range", [0, 2**40, 1], {}),
        ("Range", [0, 5, 0], {}),
        ("Tile", [[1, 2], [2**45]], {}),
        ("HannWindow", [2**40], {}),
        ("Pad", [[1, 2], [2**40, 2**40]], {}),
        ("Reshape", [[1, 2], [2**62, 2]], {}),
        ("Conv", [np.ones((1, 1, 4, 4)), np.ones((1, 1, 2, 2))], {"strides": [0, 0]}),
        (
            "Conv",
            [np.ones((1, 1, 4, 4)), np.ones((1, 1, 2, 2))],
            {"strides": [0, 0], "auto_pad": "SAME_UPPER"},
        ),
    ],
)
def test_node_with_an_impossible_size_ends_at_once(
    op: str, constants: list[Any], attributes: dict[str, Any]
) -> None:
    weights = [numpy_helper.from_array(np.asarray(c), f"w{i}") for i, c in enumerate(constants)]
    graph = helper.make_graph(
        [helper.make_node(op, [w.name for w in weights], ["y"], **attributes)],
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    _module_or_typed_error(model.SerializeToString())


def test_recursive_function_is_refused() -> None:
    body = [helper.make_node("F", ["a"], ["b"], domain="mine")]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    function = helper.make_function("mine", "F", ["a"], ["b"], body, opsets)
    graph = helper.make_graph(
        [helper.make_node("F", ["x"], ["y"], domain="mine")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
    )
    model = helper.make_model(graph, opset_imports=opsets, functions=[function])
    with pytest.raises(ImporterError):
        from_onnx(model)


BYTES = {name: build().SerializeToString() for name, build in MODELS.items()}


def _module_or_typed_error(data: bytes) -> None:
    started = time.process_time()
    try:
        mod, _ = from_onnx(data)
    except ByocLabError as error:
        assert str(error)
    else:
        assert mod["main"].is_typed
    assert time.process_time() - started < 5


@settings(max_examples=some(80))
@given(st.sampled_from(sorted(BYTES)), st.floats(0, 1))
def test_truncated_file_raises_a_typed_error(name: str, part: float) -> None:
    data = BYTES[name]
    _module_or_typed_error(data[: int(part * len(data))])


@settings(max_examples=some(250))
@given(
    st.sampled_from(sorted(BYTES)),
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_damaged_file_gives_a_module_or_a_typed_error(
    name: str, damage: list[tuple[int, int]]
) -> None:
    data = bytearray(BYTES[name])
    for place, byte in damage:
        data[place % len(data)] = byte
    _module_or_typed_error(bytes(data))


@settings(max_examples=some(150))
@given(st.sampled_from(sorted(MODELS)), st.data())
def test_invalid_nodes_give_a_module_or_a_typed_error(name: str, data: st.DataObject) -> None:
    """Attributes, inputs and types are changed; the file itself is well-formed."""
    model = onnx.ModelProto.FromString(BYTES[name])
    node = data.draw(st.sampled_from(list(model.graph.node)))
    change = data.draw(st.sampled_from(["attribute", "input", "drop", "type", "operator", "shape"]))
    integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 9)
    if change == "attribute" and node.attribute:
        attribute = data.draw(st.sampled_from(list(node.attribute)))
        value = data.draw(
            st.lists(integers, max_size=6) | integers | st.floats() | st.text(max_size=4)
        )
        new = helper.make_attribute(attribute.name, value, attr_type=None if value != [] else 7)
        attribute.CopyFrom(new)
    elif change == "input" and node.input:
        names = [n for other in model.graph.node for n in [*other.input, *other.output]]
        node.input[data.draw(st.integers(0, len(node.input) - 1))] = data.draw(
            st.sampled_from(names)
        )
    elif change == "drop" and node.input:
        del node.input[data.draw(st.integers(0, len(node.input) - 1))]
    elif change == "type":
        tensor = model.graph.input[0].type.tensor_type
        tensor.elem_type = data.draw(st.integers(0, 25))
    elif change == "operator":
        node.op_type = data.draw(st.sampled_from([n.op_type for n in model.graph.node] + ["If"]))
    elif change == "shape":
        dims = model.graph.input[0].type.tensor_type.shape.dim
        data.draw(st.sampled_from(list(dims))).dim_value = data.draw(st.integers(0, 2**40))
    _module_or_typed_error(model.SerializeToString())
