"""`byoc-lab lint`: exit codes, formats and options."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from byoc_lab import cli, relay, trace
from byoc_lab.passes import AnnotateTarget
from tests.cli.samples import CLEAN, NO_END

_S = "Tensor[(2), float32]"
NORM = f"""def @main(%x: Tensor[(1, 2, 4, 4), float32], %g: {_S}, %b: {_S}, %m: {_S}, %v: {_S}) {{
  %0 = nn.batch_norm(%x, %g, %b, %m, %v);
  %0.0
}}"""
_END = '%1 = {}(%0);\n  annotation.compiler_end(%1, compiler="dnnl")'
REFUSED, SMALL = _END.format("erf"), _END.format("nn.relu")


def test_lint_command_of_a_clean_module_exits_with_ok(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    assert cli.main(["lint", str(file)]) == cli.OK
    assert "no findings" in capsys.readouterr().out


def test_lint_command_prints_findings_with_their_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END)
    assert cli.main(["lint", str(file)]) == cli.NO
    assert f"{file}:4" in capsys.readouterr().out


def test_lint_command_on_a_file_that_is_not_relay_exits_with_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("def @main(%x { }")
    assert cli.main(["lint", str(file)]) == cli.USAGE
    assert f"byoc-lab: {file}:1:" in capsys.readouterr().err


def test_lint_command_reads_stdin_and_names_its_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(NO_END))
    assert cli.main(["lint", "-"]) == cli.NO
    assert "<stdin>:4" in capsys.readouterr().out


def test_lint_command_writes_each_format_and_refuses_others(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END)
    assert cli.main(["lint", "--format", "json", str(file)]) == cli.NO
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["code"], finding["file"], finding["line"]) == ("BYL002", str(file), 4)
    assert cli.main(["lint", "--format", "github", str(file)]) == cli.NO
    assert capsys.readouterr().out.startswith("::error title=BYL002 missing-end,file=")
    assert cli.main(["lint", "--format", "xml", str(file)]) == cli.USAGE
    assert "no format of findings is called 'xml'" in capsys.readouterr().err


def test_lint_command_ignores_suppressed_rules(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END)
    assert cli.main(["lint", "--ignore", "missing-end", str(file)]) == cli.OK
    assert cli.main(["lint", "--ignore", f"{file}:4", str(file)]) == cli.OK
    assert cli.main(["lint", "--ignore", f"{file}:3", str(file)]) == cli.NO
    file.write_text(NO_END.replace("nn.relu(%0)", "nn.relu(%0) // byoc-lab: ignore BYL002"))
    assert cli.main(["lint", str(file)]) == cli.OK
    file.write_text(NO_END.replace("nn.relu(%0)", "nn.relu(%0) // byoc-lab: ignore BYL001"))
    assert cli.main(["lint", str(file)]) == cli.NO
    capsys.readouterr()


def test_lint_command_with_an_unknown_back_end_exits_with_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    assert cli.main(["lint", "--backend", "dnn", str(file)]) == cli.USAGE
    assert "no back end is registered as 'dnn'" in capsys.readouterr().err


def test_sarif_has_the_findings_of_all_files(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END)
    other = file.with_name("clean.relay")
    other.write_text(CLEAN)
    assert cli.main(["lint", "--format", "sarif", str(file), str(other)]) == cli.NO
    log = json.loads(capsys.readouterr().out)
    assert log["version"] == "2.1.0" and len(log["runs"][0]["results"]) == 1


def test_lint_command_passes_pipeline_and_back_end_to_the_linter(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END.replace("nn.relu(%0)", REFUSED))
    assert cli.main(["lint", str(file)]) == cli.OK
    assert cli.main(["lint", "--backend", "dnnl", str(file)]) == cli.NO
    assert "BYL026" in capsys.readouterr().out
    file.write_text(CLEAN)
    assert cli.main(["lint", "--pipeline", "dnnl", str(file)]) == cli.OK
    assert cli.main(["lint", "--pipeline", "dnn", str(file)]) == cli.USAGE


def test_lint_command_with_only_hints_exits_with_ok(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END.replace("nn.relu(%0)", SMALL))
    assert cli.main(["lint", "--backend", "dnnl", str(file)]) == cli.OK
    assert "BYL028 info" in capsys.readouterr().out


def test_lint_command_runs_the_named_rules_only(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END)
    assert cli.main(["lint", "--rules", "missing-begin,BYL003", str(file)]) == cli.OK
    assert cli.main(["lint", "--rules", "missing-end", str(file)]) == cli.NO
    assert cli.main(["lint", "--rules", "BYL999", str(file)]) == cli.USAGE
    assert "no lint rule is called 'BYL999'" in capsys.readouterr().err


def test_lint_command_checks_every_stage_of_a_saved_trace(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    annotate = ["InferType", AnnotateTarget("dnnl"), "MergeCompilerRegions"]
    saved = file.with_suffix(".byoc")
    trace(relay.parse(NORM), [*annotate, "SimplifyInference"]).save(saved)
    assert cli.main(["lint", str(saved)]) == cli.NO
    assert "BYL015 error @main: after SimplifyInference: a batch norm" in capsys.readouterr().out
    trace(relay.parse(NORM), "dnnl").save(saved)
    assert cli.main(["lint", str(saved)]) == cli.OK
