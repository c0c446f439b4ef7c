"""`byoc-lab decode`: explains messages of TVM in a log."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from byoc_lab import cli
from tests.cli.samples import NO_END

LOG = b"""[12:00:00] \xff region.cc: building
InternalError: Check failed: fv.size() == 0 (1 vs. 0) : There are free variables: \
[Var(dnnl_0_i0, ty=TensorType([2, 3], float32))]
"""


def test_decode_command_reads_a_log_from_a_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = file.with_suffix(".log")
    log.write_bytes(LOG)
    assert cli.main(["decode", str(log)]) == cli.OK
    out = capsys.readouterr().out
    assert "%dnnl_0_i0 is the input of a region that was opened and has no end" in out


def test_decode_command_with_the_module_names_the_edge(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = file.with_suffix(".log")
    log.write_bytes(LOG)
    file.write_text(NO_END)
    assert cli.main(["decode", str(log), "--module", str(file)]) == cli.OK
    out = capsys.readouterr().out
    assert "rule     BYL002" in out and f"{file}:4" in out


def test_decode_command_of_unknown_text_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("all is well"))
    assert cli.main(["decode"]) == cli.NO
    assert "no known message in this text of 11 characters" in capsys.readouterr().out


def test_decode_command_prints_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(LOG.decode(errors="replace")))
    assert cli.main(["decode", "-", "--format", "json"]) == cli.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["kind"], found["known"]) == (1, "decoded", True)
    (message,) = found["messages"]
    assert (message["name"], message["rule"]) == ("open-region", "BYL002")
    assert message["edge"] is None


def test_decode_command_with_the_module_prints_the_edge_as_json(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = file.with_suffix(".log")
    log.write_bytes(LOG)
    file.write_text(NO_END)
    assert cli.main(["decode", str(log), "--module", str(file), "--format", "json"]) == cli.OK
    (message,) = json.loads(capsys.readouterr().out)["messages"]
    edge = message["edge"]
    assert edge.startswith("nn.relu (result of @main) at") and f"{file}:4" in edge


def test_decode_command_with_invalid_arguments_exits_with_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["decode", str(file)]) == cli.USAGE
    assert "No such file" in capsys.readouterr().err
    assert cli.main(["decode", "-", "--module", "-"]) == cli.USAGE
    assert "standard input (-) can be read once" in capsys.readouterr().err
    assert cli.main(["decode", str(file.parent)]) == cli.USAGE
    assert "Is a directory" in capsys.readouterr().err
