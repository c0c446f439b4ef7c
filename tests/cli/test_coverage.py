"""`byoc-lab coverage`: text, figure, JSON and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byoc_lab import cli

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(8, 8), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  nn.relu(erf(%0))
}
"""


def test_coverage_command_prints_text_and_writes_a_figure(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NET)
    figure = tmp_path / "coverage.png"
    assert cli.main(["coverage", str(file), "--figure", str(figure), "--changes"]) == cli.OK
    out = capsys.readouterr().out
    assert "2 of 3 operators" in out and "sub-pattern: 1 call (1 erf)" in out and "  with " in out
    assert figure.stat().st_size > 10_000


def test_coverage_command_compares_back_ends_and_prints_json(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NET)
    targets = ["--target", "dnnl", "--target", "ccompiler"]
    assert cli.main(["coverage", str(file), *targets]) == cli.OK
    assert capsys.readouterr().out.split()[:2] == ["dnnl", "ccompiler"]
    assert cli.main(["coverage", str(file), "--format", "json"]) == cli.OK
    assert json.loads(capsys.readouterr().out)["kind"] == "coverage"
    assert cli.main(["coverage", str(file), "--target", "dnl"]) == cli.USAGE
    assert "dnnl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["66"], cli.OK, ""),
        (["67"], cli.NO, "dnnl computes 66.67 % of the operators, less than --min-coverage 67"),
        (["67", "--of", "flops"], cli.OK, ""),
        (["99", "--of", "flops"], cli.NO, "of the floating-point operations, less than"),
        (["70", "--target", "dnnl", "--target", "ccompiler"], cli.NO, "ccompiler computes 66.67 %"),
        (["101"], cli.USAGE, "--min-coverage must be a percentage from 0 to 100, found 101"),
        (["nan"], cli.USAGE, "--min-coverage must be a percentage from 0 to 100, found nan"),
    ],
)
def test_coverage_below_the_minimum_has_its_exit_code(
    file: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, said: str
) -> None:
    file.write_text(NET)
    assert cli.main(["coverage", str(file), "--min-coverage", *options]) == code
    error = capsys.readouterr().err
    assert said in error and bool(said) == bool(error)


def test_coverage_with_unknown_flops_is_inconclusive(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NET.replace("(1, 8)", "(?, 8)"))
    least = ["--min-coverage", "10"]
    assert cli.main(["coverage", str(file), *least, "--of", "flops"]) == cli.INCONCLUSIVE
    assert "give --shape" in capsys.readouterr().err
    assert cli.main(["coverage", str(file), *least]) == cli.OK
