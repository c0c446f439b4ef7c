"""`byoc-lab trace`: prints stages, writes the page and JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from byoc_lab import cli
from tests.cli.samples import CLEAN, NO_END


def test_trace_command_prints_the_stages_and_writes_the_page(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    page = file.with_suffix(".html")
    assert cli.main(["trace", str(file), "--html", str(page)]) == cli.OK
    out = capsys.readouterr().out
    assert "PartitionGraph" in out and f"written: {page}" in out
    assert page.read_text().startswith("<!doctype html>")


def test_trace_of_a_missing_file_exits_with_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["trace", str(file)]) == cli.USAGE
    assert "No such file" in capsys.readouterr().err


def test_trace_with_an_unknown_pipeline_exits_with_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    assert cli.main(["trace", str(file), "--pipeline", "cuda"]) == cli.USAGE
    assert "no pipeline is named 'cuda'" in capsys.readouterr().err


def test_trace_of_a_failing_pipeline_exits_with_1(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END)
    assert cli.main(["trace", str(file)]) == cli.NO


def test_trace_command_prints_json_for_stdin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(CLEAN))
    assert cli.main(["trace", "-", "--format", "json"]) == cli.OK
    data = json.loads(capsys.readouterr().out)
    assert data["error"] is None
    partitioned = data["stages"][-1]
    assert partitioned["name"] == "PartitionGraph"
    assert "moved into @tvmgen_default_dnnl_main" in partitioned["summary"]


def test_trace_command_reads_onnx_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    helper = onnx.helper
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g", [info("x", 1, [2])], [info("y", 1, [2])]
    )
    path = tmp_path / "network.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    )
    assert cli.main(["trace", str(path)]) == cli.OK
    assert "PartitionGraph" in capsys.readouterr().out
    path.write_bytes(b"no model")
    assert cli.main(["trace", str(path)]) == cli.USAGE
    assert "not an ONNX model, or truncated" in capsys.readouterr().err
