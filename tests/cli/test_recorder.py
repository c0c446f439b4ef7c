"""`byoc-lab recorder`, and commands that read its recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byoc_lab.cli import main
from byoc_lab.lab.tracing.recording import recorder_source


def test_recorder_command_prints_only_the_recorder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recorder"]) == 0
    printed = capsys.readouterr().out
    assert printed == recorder_source()
    assert "class Recorder" in printed


def test_lint_command_reads_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "def @main(%x: Tensor[(2), float32]) { exp(%x) }"
    lines: list[dict[str, object]] = [
        {"format": "byoc_lab recording", "version": 2},
        {"event": "begin", "pass": "InferType", "time": 1.0, "module": text},
        {"event": "end", "pass": "InferType", "time": 2.0, "same": True},
    ]
    path = tmp_path / "passes.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["lint", str(path)]) == 0
    assert "no findings" in capsys.readouterr().out


def test_trace_command_shows_a_recording_with_its_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = "@T.prim_func\ndef main(): ..."
    lines: list[dict[str, object]] = [
        {"format": "byoc_lab recording", "version": 2, "tvm": "0.14"},
        {"event": "begin", "pass": "Lower", "time": 1.0, "module": foreign},
        {"event": "error", "type": "TVMError", "message": "contains free variables: [Var(x_0, ty="},
    ]
    path = tmp_path / "passes.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["trace", str(path), "--html", str(tmp_path / "page.html")]) == 1
    shown = capsys.readouterr().out
    assert "recorded by TVM 0.14" in shown and "this module is shown as text" in shown
    assert "Lower" in shown and (tmp_path / "page.html").exists()
    assert main(["lint", str(path)]) == 1
    assert "BYT002" in capsys.readouterr().out
    assert main(["explain", str(path)]) == 2
    assert "known as text only" in capsys.readouterr().err
    assert main(["decode", str(path)]) == 0
    decoded = capsys.readouterr().out
    assert "rule     BYL" in decoded and "module that was given" not in decoded
