"""`byoc-lab explain`: exit codes, text and JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from byoc_lab import cli, trace
from byoc_lab.relay import parse
from tests.cli.samples import CLEAN

HALF = CLEAN.replace("tanh", "sin")


def test_explain_with_all_calls_offloaded_exits_with_ok(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    assert cli.main(["explain", str(file)]) == cli.OK
    assert capsys.readouterr().out == "2 of 2 calls offloaded to dnnl\n"


def test_explain_with_a_call_on_the_host_exits_with_1_and_names_the_reason(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(HALF)
    assert cli.main(["explain", str(file)]) == cli.NO
    out = capsys.readouterr().out
    assert f"sin (%0) at {file}:3" in out and "not offloaded: no-pattern" in out


def test_explain_command_with_call_reports_that_call(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(HALF)
    for name in ("%0", "sin"):
        assert cli.main(["explain", str(file), "--call", name]) == cli.NO
        assert "0 of 1 call offloaded" in capsys.readouterr().out
    assert cli.main(["explain", str(file), "--call", "nn.relu"]) == cli.OK
    assert "1 of 1 call offloaded" in capsys.readouterr().out


def test_explain_command_prints_json(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(HALF))
    assert cli.main(["explain", "-", "--format", "json"]) == cli.NO
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["kind"], found["target"]) == (2, "explanations", "dnnl")
    assert [c["status"] for c in found["calls"]] == ["host", "offloaded"]
    assert found["calls"][0]["place"].startswith("<stdin>:3")
    assert found["groups"][found["calls"][0]["group"]]["numbers"] == ["%0"]


def test_explain_of_a_saved_trace_explains_its_first_module(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = trace(parse(HALF), pipeline="dnnl").save(file.with_suffix(".trace"))
    assert cli.main(["explain", str(saved)]) == cli.NO
    assert "sin (%0)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "dnll"], "no back end is registered as 'dnll'; did you mean 'dnnl'?"),
        (["--call", "nn.rellu"], "did you mean nn.relu or"),
        (["--call", "nn.dense"], "no call of nn.dense; it has calls of nn.relu, sin"),
        (["--call", "%9"], "the text of this module shows no call as %9; there are %0"),
        (["--call", "%x"], "the text of this module shows no call as %x; there are %0"),
        (["--pipeline", "dnll"], "did you mean 'dnnl'"),
    ],
)
def test_explain_with_invalid_arguments_exits_with_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    file.write_text(HALF)
    assert cli.main(["explain", str(file), *options]) == cli.USAGE
    said = capsys.readouterr()
    assert message in said.err and not said.out, said.err


@pytest.mark.parametrize("least", ["50", "51"])
def test_explain_and_coverage_succeed_if_the_share_reaches_the_minimum(
    least: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(HALF)
    wanted = cli.OK if least == "50" else cli.NO
    for command in ("explain", "coverage"):
        assert cli.main([command, str(file), "--min-coverage", least]) == wanted
        said = capsys.readouterr().err
        words = "dnnl computes 50 % of the operators, less than --min-coverage 51"
        assert (words in said) == (wanted == cli.NO)
    assert cli.main(["explain", str(file), "--min-coverage", "101"]) == cli.USAGE
