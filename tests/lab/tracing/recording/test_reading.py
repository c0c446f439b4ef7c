"""Recordings of a real TVM, read as traces; the file that makes them."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path

import pytest

from byoc_lab import load_trace
from byoc_lab.errors import RecordedError, TraceFileError
from byoc_lab.lab.tracing.recording import recorder_source

ORACLE = Path(__file__).parents[4] / ".oracle-venv" / "bin" / "python"
HEAD = {"format": "byoc_lab recording", "version": 2, "tvm": "0.16", "python": "3.10"}
TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }'
SCRIPT = """
import sys
import tvm, tvm_recorder
from tvm import relay
from tvm.relay import transform as T

@tvm.ir.register_op_attr("nn.relu", "target.toy")
def supported(expr):
    return True

def fail(mod, context):
    raise RuntimeError("the pass aborts")

x = relay.var("x", shape=(1, 8))
mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.nn.relu(x))))
passes = [T.InferType(), T.AnnotateTarget("toy"), T.MergeCompilerRegions(), T.PartitionGraph()]
passes.append(tvm.transform.module_pass(fail, opt_level=0, name="Aborts"))
with tvm_recorder.Recorder("passes.jsonl") as recorder:
    with tvm.transform.PassContext(opt_level=3, **recorder.options()):
        tvm.transform.Sequential(passes)(mod)
"""


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def begin(name: str, text: str = TEXT) -> dict[str, object]:
    return {"event": "begin", "pass": name, "time": 1.0, "module": text}


def end(name: str) -> dict[str, object]:
    return {"event": "end", "pass": name, "time": 3.5, "same": True}


def test_the_recorder_is_python_3_6() -> None:
    ast.parse(recorder_source(), feature_version=(3, 6))


def test_a_pass_inside_a_pass_is_part_of_it(tmp_path: Path) -> None:
    lines = [begin("sequential"), begin("Outer"), begin("InferType"), end("InferType")]
    lines += [end("Outer"), end("sequential")]
    (stage,) = load_trace(write(tmp_path / "r", HEAD, *lines)).stages
    assert (stage.name, stage.seconds, stage.changed) == ("Outer", 2.5, False)


@pytest.mark.parametrize(
    "lines, message",
    [
        ([HEAD], "has no pass"),
        ([{**HEAD, "version": 1}], "of version 1"),
        ([HEAD, begin("A", "def @main( {"), end("A")], "at pass A does not parse"),
        ([HEAD, end("A")], "damaged recording"),
        ([HEAD, 7], "damaged recording"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, lines: list[object], message: str) -> None:
    with pytest.raises(TraceFileError, match=message):
        load_trace(write(tmp_path / "r", *lines))


@pytest.mark.oracle
@pytest.mark.skipif(not ORACLE.exists(), reason="the oracle is not installed")
def test_passes_of_a_real_tvm(tmp_path: Path) -> None:
    (tmp_path / "tvm_recorder.py").write_text(recorder_source(), encoding="utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    ran = subprocess.run(
        [str(ORACLE), "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "the pass aborts" in ran.stderr
    trace = load_trace(tmp_path / "passes.jsonl")
    names = [stage.name for stage in trace.stages]
    assert names[:3] == ["InferType", "AnnotateTarget", "MergeCompilerRegions"]
    assert names[-1] == "Aborts" and isinstance(trace.error, RecordedError)
    assert trace["AnnotateTarget"].changed and "compiler_begin" in str(trace.stages[1].after)
    assert 'Compiler="toy"' in str(trace.stages[-1].before)
