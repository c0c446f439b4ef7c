"""`byoc-lab diff`: exit codes, text and JSON."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from byoc_lab import cli, relay
from byoc_lab.lab.diffing import Diff
from byoc_lab.relay import structural_equal
from tests.cli.samples import CLEAN

OTHER = CLEAN.replace("tanh", "exp")


def test_diff_of_equal_modules_exits_with_0_and_of_different_ones_with_1(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.relay"
    file.write_text(CLEAN)
    other.write_text(CLEAN.replace("%x", "%y"))
    assert cli.main(["diff", str(file), str(other)]) == cli.OK
    assert capsys.readouterr().out == "no change\n"
    other.write_text(OTHER)
    assert cli.main(["diff", str(file), str(other)]) == cli.NO
    out = capsys.readouterr().out
    assert out.startswith("1 call added, 1 call removed\n")
    assert "-   %0 = tanh(%x);" in out
    assert "+   %0 = exp(%x);" in out


def test_diff_printed_as_json_can_be_applied(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    monkeypatch.setattr("sys.stdin", io.StringIO(OTHER))
    assert cli.main(["diff", str(file), "-", "--format", "json"]) == cli.NO
    saved = Diff.from_json(capsys.readouterr().out)
    assert structural_equal(saved.apply(relay.parse(CLEAN)), relay.parse(OTHER))


def test_diff_with_invalid_arguments_exits_with_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("no module")
    assert cli.main(["diff", str(file), str(file)]) == cli.USAGE
    assert cli.main(["diff", "-", "-"]) == cli.USAGE
    assert "standard input (-) can be read once" in capsys.readouterr().err
    assert cli.main(["diff", str(file), "missing.relay"]) == cli.USAGE
