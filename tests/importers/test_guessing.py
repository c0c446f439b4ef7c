"""Suggested shapes and values, found by trying to import with several candidates."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from byoc_lab.cli import main
from byoc_lab.errors import UnknownValueError, UnsupportedOperatorError
from byoc_lab.importers.guessing import guess_of_module
from byoc_lab.importers.onnx.convert import from_onnx, guess_onnx
from byoc_lab.relay import parse

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def _info(name: str, shape: Any, dtype: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def _model(
    nodes: list[Any], inputs: list[Any], constants: Mapping[str, Any], output: str = "y"
) -> Any:
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()]
    graph = helper.make_graph(nodes, "net", inputs, [_info(output, None)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _runs(model: Any, shape: Mapping[str, Any], freeze: Mapping[str, Any]) -> None:
    """Asserts that ONNX Runtime accepts the shapes, too."""
    feed = {name: np.ones(lengths, "float32") for name, lengths in shape.items()}
    feed.update({name: np.asarray(value) for name, value in freeze.items()})
    onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)


def _window() -> Any:
    """A convolution whose window is longer than the first guess for a sequence."""
    nodes = [
        helper.make_node("Unsqueeze", ["wave", "one"], ["line"]),
        helper.make_node("Conv", ["line", "w"], ["frames"], strides=[160]),
        helper.make_node("Squeeze", ["frames", "two"], ["y"]),  # exactly one frame
    ]
    weight = np.ones((4, 1, 400), "float32")
    return _model(nodes, [_info("wave", ["b", "n"])], {"one": [1], "two": [2], "w": weight})


def _reflection() -> Any:
    """Reflection padding, and a recurrent layer whose state has the batch size."""
    nodes = [
        helper.make_node("Pad", ["wave", "pads"], ["longer"], mode="reflect"),
        helper.make_node("Transpose", ["longer"], ["turned"], perm=[1, 0]),
        helper.make_node("Unsqueeze", ["turned", "two"], ["steps"]),
        helper.make_node("LSTM", ["steps", "w", "r", "", "", "h"], ["", "y"], hidden_size=2),
    ]
    constants = {
        "pads": [0, 20, 0, 20], "two": [2],
        "w": np.ones((1, 8, 1), "float32"), "r": np.ones((1, 8, 2), "float32"),
    }  # fmt: skip
    return _model(nodes, [_info("h", [1, None, 2]), _info("wave", ["b", "n"])], constants)


def _reshape() -> Any:
    """A reshape to a constant shape, which only one size fits."""
    node = helper.make_node("Reshape", ["x", "to"], ["y"])
    return _model([node], [_info("x", ["b", "n"])], {"to": [1, 330]})


def _square() -> Any:
    """An image multiplied by a matrix whose rows fit only one square."""
    nodes = [
        helper.make_node("MaxPool", ["image"], ["small"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Flatten", ["small"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]
    return _model(nodes, [_info("image", ["b", 3, "h", "w_"])], {"w": np.ones((192, 2), "float32")})


def _rates() -> Any:
    """Two rates: for each size, only one of them fits."""

    def branch(name: str, length: int) -> Any:
        to = numpy_helper.from_array(np.array([length]), f"to_{name}")
        node = helper.make_node("Reshape", ["x", f"to_{name}"], [name])
        return helper.make_graph([node], name, [], [_info(name, None)], [to])

    nodes = [
        helper.make_node("Equal", ["rate", "limit"], ["fast"]),
        helper.make_node(
            "If", ["fast"], ["y"], then_branch=branch("t", 256), else_branch=branch("e", 512)
        ),
    ]
    inputs = [_info("x", [1, "n"]), _info("rate", [], INT64)]
    return _model(nodes, inputs, {"limit": np.array(16000)})


@pytest.mark.parametrize("make", [_window, _reflection, _reshape, _square, _rates])
def test_suggested_shape_imports_and_runs_in_the_framework(make: Any) -> None:
    guess = guess_onnx(make(), None, None)
    assert guess.imports
    mod, _ = from_onnx(make(), guess.shape, freeze=guess.freeze)
    assert all(p.checked_type.is_static for p in mod["main"].params)
    _runs(make(), guess.shape, guess.freeze)


def test_command_line_that_validate_prints_gives_shapes_and_values(
    tmp_path: Any, capsys: Any
) -> None:
    path = tmp_path / "rates.onnx"
    onnx.save(_rates(), path)
    assert main(["validate", str(path)]) == 2
    error = capsys.readouterr().err
    assert "tried: the model imports with them" in error
    line = re.search(r"^For example: byoc-lab (.*)$", error, re.MULTILINE)
    assert line is not None
    words = shlex.split(line[1])
    assert words[2:] == ["--shape", "x=1,256", "--freeze", "rate=16000"]
    assert main(words) == 0


def test_suggestion_that_does_not_import_is_called_a_guess() -> None:
    node = helper.make_node("Reshape", ["x", "to"], ["y"])
    model = _model([node], [_info("x", ["b", "n"])], {"to": [1, 331, 3]})
    guess = guess_onnx(model, None, None)
    assert not guess.imports and guess.shape == {"x": (1, 16)}
    assert "a guess that does not import" in guess.told


def test_unsupported_value_ends_the_search_with_the_first_error() -> None:
    node = helper.make_node("Split", ["x", "k"], ["y", "z"], axis=1)
    model = _model([node], [_info("x", ["b", 1, 4, 4]), _info("k", [2], INT64)], {})
    with pytest.raises(UnknownValueError, match="--freeze k=VALUE") as caught:
        from_onnx(model)
    assert caught.value.inputs == ("k",)


def test_shape_that_depends_on_values_names_their_input() -> None:
    weights = {"w": np.ones((1, 8, 3), "f4"), "r": np.ones((1, 8, 2), "f4")}
    nodes = [
        helper.make_node("Tile", ["x", "n"], ["a"]),
        helper.make_node("LSTM", ["a", "w", "r"], ["y"], hidden_size=2),
    ]
    model = _model(nodes, [_info("x", [2, 1, 3]), _info("n", [3], INT64)], weights)
    with pytest.raises(UnknownValueError, match=r"operator LSTM.*--freeze n=VALUE") as caught:
        from_onnx(model)
    assert caught.value.inputs == ("n",)
    assert from_onnx(model, freeze={"n": [2, 1, 1]})


@pytest.mark.parametrize(("length", "rate"), [(256, 16000), (512, 16001)])
def test_condition_error_names_the_value_that_takes_the_valid_branch(
    length: int, rate: int
) -> None:
    shape = {"x": (1, length)}
    with pytest.raises(UnknownValueError, match=f"--freeze rate={rate} on") as caught:
        from_onnx(_rates(), shape)
    assert caught.value.freeze == {"rate": rate}
    _runs(_rates(), shape, caught.value.freeze)
    mod, _ = from_onnx(_rates(), shape, freeze=caught.value.freeze)
    assert tuple(mod["main"].ret_type.shape) == (length,)


def test_module_is_typed_with_each_guess() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, ?), float32]) { reshape(%x, newshape=[4, 32]) }
"""
    guess = guess_of_module(parse(text))
    assert guess.imports and guess.shape == {"x": (1, 128)}


def test_padding_and_state_that_the_framework_refuses_are_refused() -> None:
    for shape, words in (
        ({"wave": (1, 20), "h": (1, 1, 2)}, "reflection adds 20 to the 20 elements of axis 1"),
        ({"wave": (1, 21), "h": (1, 3, 2)}, "the first state .* a batch of 1"),
    ):
        with pytest.raises(Exception, match=r"Pad|initial_h"):
            _runs(_reflection(), shape, {})
        with pytest.raises(UnsupportedOperatorError, match=words):
            from_onnx(_reflection(), shape)
