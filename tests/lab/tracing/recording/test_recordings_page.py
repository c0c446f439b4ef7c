"""The code blocks of docs/recordings.md run on a recording with the names that they use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import byoc_lab
from byoc_lab.lessons import cases
from byoc_lab.passes import AnnotateTarget, FoldScaleAxis, InferType, PassContext
from tests.lab.tracing.recording.lines import HEAD, begin, end, write

PAGE = Path(__file__).parents[4] / "docs" / "recordings.md"


def test_code_blocks_run_on_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = cases.get("fused-ops").plain()
    with PassContext(opt_level=3):
        folded = InferType()(FoldScaleAxis()(start))
    annotated = AnnotateTarget("dnnl")(folded)
    error = {"event": "error", "type": "InternalError", "message": "contains free variables: [Var("}
    lines = [
        begin("FoldScaleAxis", start.astext()),
        begin("InferType", None),
        end("InferType", folded.astext()),
        end("FoldScaleAxis"),
        begin("AnnotateTarget", None),
        end("AnnotateTarget", annotated.astext()),
        begin("PartitionGraph", None),
        error,
    ]
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "passes.jsonl", HEAD, *lines)
    record, *others = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    names = {"byoc_lab": byoc_lab}
    for block in others:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["trace"].versions["tvm"] == "0.16"  # type: ignore[attr-defined]
    assert names["again"].same  # type: ignore[attr-defined]
    assert "tvm_recorder.Recorder" in record and "**recorder.options()" in record
