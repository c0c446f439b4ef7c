"""`byoc-lab trace`."""

from __future__ import annotations

from pathlib import Path

import pytest

from byoc_lab import cli
from tests.cli.samples import CLEAN


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
