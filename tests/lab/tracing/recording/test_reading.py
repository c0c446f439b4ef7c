"""Recordings of a real TVM, read as traces: nesting, damage, and modules known only as text."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from byoc_lab import fix, lint, load_trace
from byoc_lab.errors import (
    DiffError,
    RecordedError,
    StageIndexError,
    TraceFileError,
    UnparsedModuleError,
)
from byoc_lab.lab.tracing.recording import RecordedStage
from byoc_lab.lab.view.states.objects import state_of
from byoc_lab.lab.view.text import stage_text
from byoc_lab.relay.ir.unparsed import UnparsedModule
from tests.lab.tracing.recording.lines import FOREIGN, HEAD, OTHER, TEXT, begin, end, ran, write


def test_pass_inside_a_pass_is_nested_in_its_stage(tmp_path: Path) -> None:
    lines = [begin("sequential"), begin("Outer"), begin("InferType"), end("InferType")]
    lines += [end("Outer"), end("sequential")]
    trace = load_trace(write(tmp_path / "r", HEAD, *lines))
    (stage,) = trace.stages
    assert (stage.name, stage.seconds, stage.changed) == ("Outer", 2.5, False)
    (inner,) = stage.inside()
    assert (inner.name, inner.nested) == ("InferType", ())
    assert "(inside it ran InferType)" in stage_text(trace, 0)
    assert state_of(trace)["stages"][0]["summary"] == "inside it ran InferType"
    with pytest.raises(StageIndexError, match="no passes were recorded inside InferType"):
        inner.inside()


def test_versions_are_kept_and_shown(tmp_path: Path) -> None:
    trace = load_trace(write(tmp_path / "r.jsonl", HEAD, begin("A"), end("A")))
    saved = load_trace(trace.save(tmp_path / "saved"))
    for found in (trace, saved, copy.copy(trace), pickle.loads(pickle.dumps(trace))):
        assert found.versions == {"tvm": "0.16", "python": "3.10"}
        assert str(found).startswith("r.jsonl, recorded by TVM 0.16: 1 stage")


@pytest.mark.parametrize(
    "lines, message",
    [
        ([HEAD], "has no pass"),
        ([{**HEAD, "version": 1}], "of version 1"),
        ([HEAD, end("A")], "damaged recording"),
        ([HEAD, begin("A", None)], "equal to the previous one, but no module precedes it"),
        ([HEAD, {**begin("A"), "module": 3}], "must be a text"),
        ([HEAD, begin("A", metadata={"b64ndarrays": ["k"]}), end("A")], "'k' was not recorded"),
        ([HEAD, {"event": "array", "key": "k", "data": "?"}], "damaged"),
        ([HEAD, 7], "damaged recording"),
    ],
)
def test_damaged_recording_raises_error_with_the_reason(
    tmp_path: Path, lines: list[object], message: str
) -> None:
    with pytest.raises(TraceFileError, match=message):
        load_trace(write(tmp_path / "r", *lines))


def test_damaged_line_is_an_error_and_a_truncated_last_line_is_not(tmp_path: Path) -> None:
    path = write(tmp_path / "r", HEAD, begin("A"), end("A"), begin("B", None))
    path.write_text(path.read_text() + '{"event": "en')
    trace = load_trace(path)
    assert [s.name for s in trace] == ["A", "B"]
    assert isinstance(trace.error, RecordedError) and trace["B"].error is trace.error
    assert "ends inside pass B" in str(trace)
    path.write_text(path.read_text() + "\n")
    with pytest.raises(TraceFileError, match="damaged recording"):
        load_trace(path)


def test_error_is_assigned_to_each_pass_that_it_ended(tmp_path: Path) -> None:
    error = {"event": "error", "type": "TVMError", "message": "no"}
    lines = [begin("sequential"), begin("Outer"), begin("Inner"), error]
    trace = load_trace(write(tmp_path / "r", HEAD, *lines))
    (stage,) = trace.stages
    assert str(stage.error) == "TVMError: no" and stage.after is None
    assert stage.inside()["Inner"].error is stage.error is trace.error
    again = load_trace(write(tmp_path / "r", HEAD, *lines, begin("B"), end("B")))
    assert [s.name for s in again] == ["Outer", "B"] and again.error is None


def test_text_that_does_not_parse_is_shown_and_compared(tmp_path: Path) -> None:
    lines = [begin("A"), end("A", FOREIGN), begin("B", None), end("B", f"{FOREIGN} # b")]
    lines += [begin("C", None), end("C", TEXT)]
    trace = load_trace(write(tmp_path / "r", HEAD, *lines))
    assert [s.changed for s in trace] == [True, True, True]
    text = str(trace)
    assert "this module is shown as text and was not examined: byoc_lab cannot parse it" in text
    assert "+ @T.prim_func" in stage_text(trace, 0) and "- @T.prim_func" in stage_text(trace, 2)
    assert trace["B"].diff().summary == "1 line of the text changed"
    assert "+     T.evaluate(0) # b" in stage_text(trace, 1)
    shown = state_of(trace)["modules"][1]
    assert ("@T.prim_func", None) in shown["lines"] and "cannot parse it" in shown["graph_note"]
    assert trace.save_html(tmp_path / "r.html").stat().st_size > 1000
    saved = load_trace(trace.save(tmp_path / "saved"))
    assert str(saved) == text
    assert str(pickle.loads(pickle.dumps(trace))) == text


def test_module_known_as_text_refuses_graph_operations_with_the_reason(tmp_path: Path) -> None:
    lines = [begin("A", FOREIGN), end("A", TEXT)]
    trace = load_trace(write(tmp_path / "r", HEAD, *lines))
    mod = trace.initial
    assert isinstance(mod, UnparsedModule) and str(mod).startswith("# from tvm.script")
    for use in (fix, len, list, lambda m: m["main"], lambda m: trace[0].replayed()):
        with pytest.raises(UnparsedModuleError, match=r"text only.*cannot parse it"):
            use(mod)
    (finding,) = lint(mod)
    assert finding.code == "BYT002" and "cannot parse it" in finding.message
    with pytest.raises(DiffError, match="cannot be applied"):
        trace[0].diff().apply(mod)


def test_unprintable_module_has_a_stage_with_the_reason(tmp_path: Path) -> None:
    lines = [begin("A"), {"event": "end", "pass": "A", "time": 2.0, "unprintable": "TVMError: no"}]
    trace = load_trace(write(tmp_path / "r", HEAD, *lines))
    assert "TVM could not print it (TVMError: no)" in str(trace)


def test_module_that_cannot_be_typed_is_read_without_types(tmp_path: Path) -> None:
    text = "def @main(%x: Tensor[(2), float32]) { add(%x, %x, %x) }"
    bad = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { reshape(%x, newshape=[7]) }'
    trace = load_trace(write(tmp_path / "r", HEAD, begin("A", bad), end("A", text)))
    mod = trace.initial
    assert "reshape" in mod.astext() and "types cannot be inferred" in mod.notes[0]
    assert "reshape" in stage_text(trace, 0)


def test_saved_recording_still_has_recorded_stages(tmp_path: Path) -> None:
    context = {"event": "context", "opt_level": 1}
    trace = load_trace(write(tmp_path / "r", HEAD, context, begin("A"), *ran("B"), end("A", OTHER)))
    saved = load_trace(trace.save(tmp_path / "saved"))
    for found in (trace, saved):
        (stage,) = found.stages
        assert isinstance(stage, RecordedStage) and stage.opt_level == 1
        assert isinstance(stage.inside()["B"], RecordedStage)


def test_module_with_unknown_node_type_in_its_metadata_is_readable(tmp_path: Path) -> None:
    """Example: the Target in the attributes of modules lowered by relay.build."""
    text = TEXT.replace(
        "(%x: Tensor[(2), float32])", "(%x: Tensor[(2), float32], t=meta[Target][0])"
    )
    nodes = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["Target"], "data": [2]},
        {"type_key": "Array", "data": [3]},
        {"type_key": "Target", "attrs": {"kind": "0"}},
    ]
    graph = {"root": 1, "nodes": nodes, "b64ndarrays": []}
    trace = load_trace(write(tmp_path / "r", HEAD, begin("A", text, metadata=graph), end("A")))
    assert "exp(%x)" in str(trace.initial) and not trace.findings
    assert trace.initial.notes == ["values of Target in its metadata are not known here"]
