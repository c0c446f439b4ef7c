"""Recordings of TVM 0.16's C++ passes: the pipelines of the four threads, and MobileNet."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from byoc_lab import Trace, decode, diff, explain, fix, lint, load_trace
from byoc_lab.errors import RecordedError
from byoc_lab.lab.tracing.recording import RecordedStage, recorder_source
from byoc_lab.lab.view.states.objects import state_of
from byoc_lab.lab.view.text import stage_text
from byoc_lab.lessons import cases

HERE = Path(__file__).parent
ORACLE = HERE.parents[3] / ".oracle-venv" / "bin" / "python"
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not ORACLE.exists(), reason="the oracle is not installed"),
]
MODULES = {
    "nested-partition": lambda: cases.get("nested-partition").module(),  # annotated by hand
    "batch-norm": lambda: cases.get("batch-norm").plain(),
    "let-bound-calls": lambda: cases.get("let-bound-calls").plain(),
    "fused-ops": lambda: cases.get("fused-ops").plain(),
    "aborts": lambda: cases.get("fused-ops").plain(),
}
# The passes whose results differ between TVM and byoc_lab, and the title of the comparison.
OTHERS = {("let-bound-calls", "AnnotateTarget"): "with era='0.16' it equals the recorded result"}


def record(folder: Path, *names: str) -> None:
    (folder / "tvm_recorder.py").write_text(recorder_source(), encoding="utf-8")
    for name in set(names) & set(MODULES):
        text = MODULES[name]().astext(for_tvm=True)
        (folder / f"{name}.relay").write_text(text, encoding="utf-8")
    command = [str(ORACLE), str(HERE / "oracle_record.py"), str(folder), *names]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    folder = tmp_path_factory.mktemp("recordings")
    record(folder, *MODULES)
    return {name: load_trace(folder / f"{name}.jsonl") for name in MODULES}


def opens_in_everything(trace: Trace, tmp_path: Path) -> None:
    """Opens the recording in the stepper, both texts, the page, the saved file, diff and lint."""
    assert trace.versions["tvm"].startswith("0.16") and trace.title in str(trace)
    assert len(state_of(trace)["stages"]) == len(trace)
    assert all(stage.name in stage_text(trace, n) for n, stage in enumerate(trace))
    assert trace.save_html(tmp_path / "page.html").exists()
    assert str(load_trace(trace.save(tmp_path / "saved"))) == str(trace)
    assert bool(diff(trace.initial, trace.final)) == bool(trace.diff())
    assert [f.code for f in lint(trace.final)] == [f.code for f in trace.stages[-1].findings_after]


@pytest.mark.parametrize("name", MODULES)
def test_recording_opens_in_every_display_and_tool(
    recordings: dict[str, Trace], name: str, tmp_path: Path
) -> None:
    opens_in_everything(recordings[name], tmp_path)


@pytest.mark.parametrize("name", MODULES)
def test_replayed_passes_give_the_recorded_results(recordings: dict[str, Trace], name: str) -> None:
    compared = 0
    for stage in recordings[name]:
        unknown = stage.name == "Aborts" or (name, stage.name) == (
            "let-bound-calls",
            "MergeComposite",  # the script has its own table
        )
        if unknown or stage.error is not None:
            continue
        assert isinstance(stage, RecordedStage)
        again = stage.replayed()
        assert again.same or OTHERS[name, stage.name] in again.title, again.title
        compared += 1
    assert compared > 0


def test_recording_of_the_nested_partition_thread_shows_its_error(
    recordings: dict[str, Trace],
) -> None:
    trace = recordings["nested-partition"]
    stage = trace.stages[-1]
    assert stage.name == "PartitionGraph" and isinstance(stage.error, RecordedError)
    assert isinstance(stage, RecordedStage)
    assert "it fails here and in TVM, which raised InternalError" in stage.replayed().title
    assert [f.code for f in lint(trace.final)] == ["BYL001"]
    assert fix(trace.final) and not fix(trace.final).left
    assert [m.lesson for m in decode(str(trace.error), trace.final)] == ["nested-partition"]


def test_recording_of_the_let_bound_calls_thread_shows_free_variables(
    recordings: dict[str, Trace],
) -> None:
    trace = recordings["let-bound-calls"]
    assert trace.stages[-1].name == "PartitionGraph"
    assert [f.code for f in lint(trace.final)] == ["BYL004", "BYL004"]
    assert [m.lesson for m in decode(str(trace.error), trace.final)] == ["let-bound-calls"]


def test_recorded_batch_norm_pipeline_has_its_inner_passes(recordings: dict[str, Trace]) -> None:
    trace = recordings["batch-norm"]
    assert trace.error is None and 'Composite="dnnl.conv2d_bias_relu"' in str(trace.final)
    assert all(e.status == "offloaded" for e in explain(trace["MergeComposite"].before, "dnnl"))
    inner = [stage.name for stage in trace["FoldScaleAxis"].inside()]
    assert {"BackwardFoldScaleAxis", "ForwardFoldScaleAxis", "FoldConstant"} <= set(inner)


def test_aborting_pass_is_the_last_stage_of_a_recording(recordings: dict[str, Trace]) -> None:
    trace = recordings["aborts"]
    assert [s.name for s in trace] == ["InferType", "AnnotateTarget", "Aborts"]
    assert str(trace.error) == "RuntimeError: the pass aborts" and trace[-1].after is None


@pytest.mark.slow
def test_recorded_mobilenet_has_no_findings_left(tmp_path: Path) -> None:
    record(tmp_path, "mobilenet")
    assert (tmp_path / "mobilenet.jsonl").stat().st_size < 100e6  # each array is stored once
    trace = load_trace(tmp_path / "mobilenet.jsonl")
    opens_in_everything(trace, tmp_path)
    assert trace[-1].name == "Aborts" and trace["PartitionGraph"].changed
    for stage in trace:
        assert isinstance(stage, RecordedStage)
        assert stage.name == "Aborts" or stage.replayed().same
    found = explain(trace.initial, "dnnl")
    assert "calls offloaded to dnnl" in str(found) and not fix(trace.final).left
    assert not decode(str(trace.error), trace.final)  # raised by the script itself
