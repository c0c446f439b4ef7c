"""`--shape` and `--freeze` of every command that reads a model."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest

from byoc_lab.cli import main, parser
from byoc_lab.commands import all_commands

DYNAMIC = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(?, 3), float32]) { nn.relu(add(%x, %y)) }
"""


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "net.relay"
    path.write_text(DYNAMIC)
    return str(path)


def test_every_command_that_reads_a_module_has_the_options():
    readers = [n for n, c in all_commands() if hasattr(c, "read_module")]
    assert len(readers) >= 9
    for name in readers:
        sub = parser()._subparsers._group_actions[0].choices[name]
        flags = {flag for action in sub._actions for flag in action.option_strings}
        assert {"--shape", "--freeze"} <= flags, name


def test_validate_uses_given_shapes_and_values(text, tmp_path, capsys):
    np.save(tmp_path / "y.npy", np.ones((2, 3), "float32"))
    given = ["--shape", "x=2,3", "--freeze", f"y={tmp_path / 'y.npy'}"]
    assert main(["validate", text, *given]) == 0
    assert "valid" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options, words",
    [
        (["--shape", "x"], "expects NAME="),
        (["--shape", "x=a,3"], "must be integers"),
        (["--shape", "x=2,3", "--shape", "x=4,3"], "twice"),
        (["--shape", "q=2,3"], "shape names 'q'"),
        (["--freeze", "x=maybe"], "numbers separated by commas"),
        (["--freeze", "q=1"], "freeze names 'q'"),
    ],
)
def test_malformed_shape_options_exit_with_usage_error(text, options, words, capsys):
    assert main(["explain", text, *options]) == 2
    assert words in capsys.readouterr().err


def printed_line(capsys):
    line = re.search(r"^For example: byoc-lab (.*)$", capsys.readouterr().err, re.MULTILINE)
    assert line is not None
    return shlex.split(line[1])


def test_command_line_in_an_error_message_works(tmp_path, capsys):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto as T
    from onnx import helper as h
    from onnx import numpy_helper as nh

    node = h.make_node("Resize", ["v", "", "s"], ["r"], mode="linear")
    graph = h.make_graph(
        [node], "net",
        [h.make_tensor_value_info("v", T.FLOAT, ["batch", 3, "h", "w"])],
        [h.make_tensor_value_info("r", T.FLOAT, None)],
        [nh.from_array(np.array([1, 1, 0.5, 0.5], "float32"), "s")],
    )  # fmt: skip
    path = tmp_path / "a net.onnx"
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=9), path)
    assert main(["coverage", str(path)]) == 2
    assert main(printed_line(capsys)) == 0


def test_command_line_in_a_message_of_validate_works(tmp_path, capsys):
    path = tmp_path / "unknown.relay"
    path.write_text("def @main(%x: Tensor[(?, 3), float32]) { nn.relu(%x) }")
    assert main(["validate", str(path)]) == 2
    line = printed_line(capsys)
    assert line[-2:] == ["--shape", "x=1,3"]
    assert main(line) == 0
