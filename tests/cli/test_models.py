"""Commands that read ONNX files and exported PyTorch programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byoc_lab import cli


def onnx_file(folder: Path) -> Path:
    onnx = pytest.importorskip("onnx")
    from tests.importers.onnx.models import Builder

    net = Builder()
    model = net.model(net.call("Erf", net.call("Relu", net.conv("x", 3, 4))))
    onnx.save(model, folder / "net.onnx")
    return folder / "net.onnx"


def pt2_file(folder: Path) -> Path:
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval()
    torch.export.save(torch.export.export(net, (torch.randn(1, 3, 8, 8),)), folder / "net.pt2")
    return folder / "net.pt2"


@pytest.fixture(scope="module", params=[onnx_file, pt2_file])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(request.param(tmp_path_factory.mktemp("model")))


def test_trace_command_reads_models(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert cli.main(["trace", model, "--html", str(page)]) == cli.OK
    assert "PartitionGraph" in capsys.readouterr().out and page.stat().st_size > 1000


def test_lint_command_reads_models(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", model]) == cli.OK
    assert "no findings" in capsys.readouterr().out


def test_explain_command_reads_models(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["explain", model, "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "explanations" and found["calls"]
    assert (code == cli.NO) == model.endswith(".onnx")  # erf stays on the host


@pytest.mark.native
def test_validate_command_reads_models(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["validate", model]) == cli.OK
    assert capsys.readouterr().out.startswith("valid")


def test_help_lists_accepted_files_first(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    shown = capsys.readouterr().out
    first = shown.index("Ways in:")
    assert first < shown.index("positional arguments")
    for way in ("net.onnx", ".pt2", ".relay", "byoc-lab recorder > tvm_recorder.py"):
        assert way in shown[first : shown.index("positional arguments")]
