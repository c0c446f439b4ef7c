"""`byoc-lab reduce`: finds the smallest module with a given property."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import byoc_lab
from byoc_lab import cli, relay
from byoc_lab.commands.reduce import KEEP
from byoc_lab.lab.reducing import KINDS
from tests.cli.samples import CLEAN, HEAD, NO_END

LONG = f"""{HEAD}  %0 = tanh(%x);
  %1 = annotation.compiler_begin(%0, compiler="dnnl");
  %2 = nn.relu(%1);
  %3 = sigmoid(%2);
  abs(%3)
}}
"""


def test_module_with_a_finding_is_reduced_written_and_shown(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(LONG)
    small, script = tmp_path / "small.relay", tmp_path / "repro.py"
    written = ["-o", str(small), "--script", str(script)]
    assert cli.main(["reduce", str(file), "--keep", "finding:BYL002", *written]) == cli.OK
    out = capsys.readouterr().out
    assert out.startswith("finding:BYL002: reduced from 5 operators to 1 with ")
    assert "no single change makes the module smaller" in out
    assert len(byoc_lab.lint(relay.parse(small.read_text()), rules=["BYL002"])) == 1
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert ended.returncode == 0 and "-> the predicate holds" in ended.stdout
    assert cli.main(["lint", str(small), "--rules", "BYL002"]) == cli.NO


def test_reduce_command_prints_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"{HEAD}  add(%x, abs(nn.softmax(exp(%x))))\n}}\n")
    options = ["--keep", "not-offloaded:add", "--target", "ccompiler", "--format", "json"]
    assert cli.main(["reduce", str(file), *options]) == cli.USAGE, "ccompiler computes add"
    options[1] = "not-offloaded:nn.softmax on ccompiler"
    capsys.readouterr()
    status = cli.main(["reduce", str(file), *options])
    found = json.loads(capsys.readouterr().out)
    assert status == cli.OK and found["kind"] == "reduction" and found["minimal"]
    assert found["operators"] == 1 and found["operators_before"] == 4
    assert "softmax" in found["module"] and "softmax" not in found["passing"]


def test_reduction_with_a_used_up_budget_can_be_resumed(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(LONG)
    command = ["reduce", str(file), "--keep", "finding:BYL002"]
    kept = ["--resume", str(tmp_path / "state")]
    assert cli.main([*command, "--budget", "2", *kept]) == cli.NO
    assert "the budget was used up" in capsys.readouterr().out
    assert cli.main([*command, *kept]) == cli.OK
    resumed = capsys.readouterr().out
    assert cli.main(command) == cli.OK
    assert resumed == capsys.readouterr().out


def test_reduce_command_takes_a_predicate_from_a_file(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(LONG)
    source, script = tmp_path / "wanted.py", tmp_path / "repro.py"
    source.write_text("def sigmoid(mod):\n    return 'sigmoid' in str(mod)\n")
    options = ["--keep", f"{source}:sigmoid", "--script", str(script)]
    assert cli.main(["reduce", str(file), *options]) == cli.OK
    assert capsys.readouterr().out.startswith("wanted.sigmoid: reduced from 5 operators to 1 ")
    assert "wanted.sigmoid cannot be imported" in script.read_text()
    for keep in (f"{source}:tanh", f"{tmp_path / 'none.py'}:sigmoid"):
        assert cli.main(["reduce", str(file), "--keep", keep]) == cli.USAGE


def test_reduce_of_a_missing_file_exits_with_usage_error(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    assert cli.main(["reduce", str(file), "--keep", "finding:BYL002"]) == cli.USAGE
    assert "does not hold for the module that was given" in capsys.readouterr().err
    file.write_text(NO_END)
    for keep in ("BYL002", "finding:BYL999", "wrong:nothing"):
        assert cli.main(["reduce", str(file), "--keep", keep]) == cli.USAGE
    assert cli.main(["reduce", str(file), "--keep", "finding:BYL002", "--budget", "0"]) == cli.USAGE
    none = str(tmp_path / "none.relay")
    assert cli.main(["reduce", none, "--keep", "finding:BYL002"]) == cli.USAGE
    assert "byoc-lab: " in capsys.readouterr().err


def test_help_names_every_kind_of_predicate() -> None:
    assert all(f"{kind}:" in KEEP for kind in KINDS)


@pytest.mark.slow
def test_predicate_that_aborts_the_process_does_not_end_the_search(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(LONG)
    keep = tmp_path / "aborts.py"
    keep.write_text(
        "import os\n"
        "def has_sigmoid(mod):\n"
        "    if 'sigmoid' not in str(mod):\n"
        "        os.abort()\n"
        "    return True\n"
    )
    command = ["reduce", str(file), "--keep", f"{keep}:has_sigmoid", "--format", "json"]
    assert cli.main(command) == cli.OK
    found = json.loads(capsys.readouterr().out)
    assert found["keep"] == "aborts.has_sigmoid" and found["operators"] == 1 and found["raised"]
    assert "sigmoid" in found["module"]
