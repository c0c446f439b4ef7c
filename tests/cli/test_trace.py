"""`byoc-lab trace`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from byoc_lab import cli
from tests.cli.samples import CLEAN, NO_END


def test_it_prints_the_stages_and_writes_the_page(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    page = file.with_suffix(".html")
    assert cli.main(["trace", str(file), "--html", str(page)]) == cli.OK
    out = capsys.readouterr().out
    assert "PartitionGraph" in out and f"written: {page}" in out
    assert page.read_text().startswith("<!doctype html>")


def test_a_missing_file_is_a_usage_error(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", str(file)]) == cli.USAGE
    assert "No such file" in capsys.readouterr().err


def test_an_unknown_pipeline_is_a_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    assert cli.main(["trace", str(file), "--pipeline", "cuda"]) == cli.USAGE
    assert "no pipeline is named 'cuda'" in capsys.readouterr().err


def test_errors_are_a_negative_result(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(NO_END)
    assert cli.main(["trace", str(file)]) == cli.NO


def test_json_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(CLEAN))
    assert cli.main(["trace", "-", "--format", "json"]) == cli.OK
    data = json.loads(capsys.readouterr().out)
    assert data["error"] is None
    partitioned = data["stages"][-1]
    assert partitioned["name"] == "PartitionGraph"
    assert "moved into @tvmgen_default_dnnl_main" in partitioned["summary"]
