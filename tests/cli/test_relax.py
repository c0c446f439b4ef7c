"""Commands on a Relax module in a TVMScript file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from byoc_lab import cli
from tests.importers.test_tvm_script import TEXT


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "net.py"
    path.write_text(TEXT)
    return str(path)


def test_trace_command_reads_relax_modules(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert cli.main(["trace", model, "--html", str(page)]) == cli.OK
    assert "MergeCompositeFunctions" in capsys.readouterr().out
    assert page.read_text().startswith("<!doctype html>")
    assert cli.main(["trace", model, "--pipeline", "LegalizeOps", "--format", "json"]) == cli.OK
    (stage,) = json.loads(capsys.readouterr().out)["stages"]
    assert stage["name"] == "LegalizeOps" and "function added" in stage["summary"]
    assert cli.main(["trace", model, "--pipeline", "nope"]) == cli.USAGE


def test_saved_relax_trace_cannot_be_traced_again(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from byoc_lab import importers, trace

    saved = trace(importers.load(model)[0], "dnnl").save(tmp_path / "relax.trace")
    assert cli.main(["trace", str(saved)]) == cli.OK
    assert "MergeCompositeFunctions" in capsys.readouterr().out
    assert cli.main(["lint", str(saved)]) == cli.OK
    assert cli.main(["trace", str(saved), "--pipeline", "dnnl"]) == cli.USAGE
    assert "create the module again with TVM installed" in capsys.readouterr().err


def test_lint_and_diff_read_relax_modules_and_reduce_refuses_them(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lint", model]) == cli.OK
    assert cli.main(["diff", model, model]) == cli.OK
    assert cli.main(["reduce", model, "--keep", "finding:BYR001"]) == cli.USAGE
    assert "takes modules of Relay" in capsys.readouterr().err


def test_fix_command_repairs_relax_modules(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from byoc_lab.relax import patterns
    from tests.relax.test_partition import module, var
    from tests.relax.tracing.networks import relax

    assert cli.main(["fix", model]) == cli.OK
    relu = module([var("x", 4, 8)], lambda emit, x: emit(relax.op.nn.relu(x)))
    wrong = tmp_path / "wrong.py"
    composed = relax.transform.FuseOpsByPattern(patterns())(relu)
    wrong.write_text(composed.script(), encoding="utf-8")
    assert cli.main(["lint", str(wrong)]) == cli.NO
    assert cli.main(["fix", str(wrong)]) == cli.NO
    assert "fix 1: run MergeCompositeFunctions" in capsys.readouterr().out
    assert cli.main(["fix", str(wrong), "--output", str(tmp_path / "right.py")]) == cli.USAGE
    assert "byoc_lab.fix(mod).apply()" in capsys.readouterr().err


def test_explain_command_reads_relax_modules(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", model]) == cli.OK
    assert "1 of 1 call offloaded" in capsys.readouterr().out


def test_help_mentions_tvmscript_files(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("trace", "lint"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert "TVMScript of a Relax module" in " ".join(capsys.readouterr().out.split())
