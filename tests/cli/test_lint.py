"""`byoc-lab lint`."""

from __future__ import annotations

from pathlib import Path

import pytest

from byoc_lab import cli
from tests.cli.samples import CLEAN, NO_END


def test_a_clean_module(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(CLEAN)
    assert cli.main(["lint", str(file)]) == cli.OK
    assert "no findings" in capsys.readouterr().out


def test_findings_are_printed_with_their_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END)
    assert cli.main(["lint", str(file)]) == cli.NO
    assert f"{file}:4" in capsys.readouterr().out


def test_a_file_that_is_not_relay_is_a_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("def @main(%x { }")
    assert cli.main(["lint", str(file)]) == cli.USAGE
    assert f"byoc-lab: {file}:1:" in capsys.readouterr().err
