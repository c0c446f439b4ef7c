"""Saved traces: loading restores everything, and neither runs nor unpickles code; other files
are refused."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import (
    FreeVariableError,
    ParseError,
    RecordedError,
    StageIndexError,
    TraceFileError,
)
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.tracing.nodes import nodes_of
from byoc_lab.lessons import mobilenet
from byoc_lab.passes import PassContext, module_pass
from byoc_lab.relay import Constant, IRModule, assert_structural_equal, structural_equal
from byoc_lab.relay.ir.ndarray import numpy_dtype
from byoc_lab.relay.ir.span import SequentialSpan
from byoc_lab.relay.ir.visit import post_order
from tests import strategies
from tests.lab.tracing.test_pickling import LETS
from tests.lab.tracing.test_trace import NEVER_CLOSED
from tests.passes.framework.test_hook import ALL, assert_same_types
from tests.relay.op.samples import SAMPLES
from tests.sweeps import some


def _again(trace: Trace, path: Path, constants: bool = True) -> Trace:
    assert trace.save(path, constants=constants) == path
    return byoc_lab.load_trace(path)


def _check_same(made: Trace, trace: Trace) -> None:
    """Compares every member of two traces, including constants."""
    assert (made.title, len(made)) == (trace.title, len(trace))
    assert str(made) == str(trace) and repr(made) == repr(trace)
    for stage, old in zip(made, trace, strict=True):
        assert repr(stage) == repr(old)
        assert (stage.seconds, stage.skipped, stage.group) == (old.seconds, old.skipped, old.group)
        assert stage.needs_level == old.needs_level
        assert [str(e) for e in stage.events] == [str(e) for e in old.events]
        assert [list(e.bound) for e in stage.events] == [list(e.bound) for e in old.events]
        assert str(stage.notes) == str(old.notes)
        assert [str(f) for f in stage.findings_after] == [str(f) for f in old.findings_after]
        for mod, wanted in ((stage.before, old.before), (stage.after, old.after)):
            if wanted is None or mod is None:
                assert mod is wanted
                continue
            assert_structural_equal(mod, wanted)
            assert str(mod) == str(wanted)
            for a, b in zip(nodes_of(mod), nodes_of(wanted), strict=True):
                assert a.span == b.span
                assert str(a._checked_type) == str(b._checked_type)
    for stage, following in zip(made, list(made)[1:], strict=False):
        assert following.before is stage.after, "stages share their modules"
    _check_provenance(made, trace)


def _check_provenance(made: Trace, trace: Trace) -> None:
    for stage, old in zip(made, trace, strict=True):
        if stage.after is None or old.after is None:
            continue
        position = {n: k for k, n in enumerate(nodes_of(old.before))}
        found = {n: k for k, n in enumerate(nodes_of(stage.before))}
        for a, b in zip(nodes_of(stage.after), nodes_of(old.after), strict=True):
            assert [found[n] for n in stage.origins(a)] == [position[n] for n in old.origins(b)]
            assert stage.rule_of(a) == old.rule_of(b)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["all", "Inline", "undone", "normal forms", "extern"])
@settings(max_examples=some(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mod=strategies.modules())
def test_random_traces_are_restored(tmp_path: Path, name: str, mod: IRModule) -> None:
    trace = byoc_lab.trace(mod, ALL[name], opt_level=4)
    made = _again(trace, tmp_path / "trace")
    _check_same(made, trace)
    for stage, old in zip(made, trace, strict=True):
        for count in {0, len(old.events) // 2, len(old.events)}:
            assert str(stage.state_after(count)) == str(old.state_after(count))


def test_trace_of_lets_and_fusion_is_saved_and_loaded(tmp_path: Path) -> None:
    mod = relay.parse(f'#[version = "0.0.5"]\n{LETS}')
    passes = ["InferType", "ToANormalForm", "FuseOps", "DeadCodeElimination"]
    trace = byoc_lab.trace(mod, passes)
    _check_same(_again(trace, tmp_path / "trace"), trace)


def test_mobilenet_saved_without_constants_is_small(tmp_path: Path) -> None:
    trace = byoc_lab.trace(mobilenet.module(64), "dnnl")
    path = tmp_path / "mobilenet"
    made = _again(trace, path, constants=False)
    assert path.stat().st_size < 2_000_000
    assert str(made) == str(trace)
    _check_provenance(made, trace)
    for stage, old in zip(made, trace, strict=True):
        assert str(stage.after) == str(old.after)
        state = stage.state_after(len(stage.events))
        assert stage.after is not None
        assert structural_equal(state, stage.after)
        assert_same_types(state, stage.after)
    constants = [n for n in post_order(made.final["main"]) if isinstance(n, Constant)]
    assert all(n.elided == (n.numpy().size > 16) for n in constants)
    conv = next(n for n in nodes_of(made.initial) if getattr(n, "op_name", "") == "nn.conv2d")
    assert made.history(conv).regions == ("tvmgen_default_dnnl_main_0",)


def test_constants_are_restored_bit_for_bit(tmp_path: Path) -> None:
    values = [
        np.array([np.nan, -0.0, np.inf, 1e-45], "float32"),
        np.arange(6, dtype="int8").reshape(2, 3),
        np.array(True),
        np.array([], "float64"),
        np.array([1.5, -2.0], numpy_dtype("bfloat16")),
    ]
    mod = IRModule.from_expr(relay.Tuple([Constant(v) for v in values]))
    made = _again(byoc_lab.trace(mod, ["InferType"]), tmp_path / "trace")
    found = [n.numpy() for n in post_order(made.final["main"]) if isinstance(n, Constant)]
    assert [a.dtype for a in found] == [b.dtype for b in values]
    assert [a.shape for a in found] == [b.shape for b in values]
    assert [a.tobytes() for a in found] == [b.tobytes() for b in values]


def test_trace_of_a_deep_chain_is_restored(tmp_path: Path) -> None:
    x: relay.Expr = relay.var("x", shape=(2, 2))
    for _ in range(5_000):
        x = relay.nn.relu(x)
    trace = byoc_lab.trace(IRModule.from_expr(x), ["InferType"])
    made = _again(trace, tmp_path / "trace")
    assert structural_equal(made.result, trace.result)


def test_calls_of_every_operator_are_restored(tmp_path: Path) -> None:
    """With their attributes and types, in one module that takes several lines of the table."""
    mod = IRModule({f"f{n}": sample.function() for n, sample in enumerate(SAMPLES)})
    trace = byoc_lab.trace(mod, ["InferType"])
    made = _again(trace, tmp_path / "trace")
    assert_structural_equal(made.final, trace.final)
    for a, b in zip(nodes_of(made.final), nodes_of(trace.final), strict=True):
        assert getattr(a, "attrs", None) == getattr(b, "attrs", None)
        assert str(a._checked_type) == str(b._checked_type)


def test_source_locations_are_restored(tmp_path: Path) -> None:
    """One location, the name of an imported node, none, and the locations of merged nodes."""
    first, second = relay.Span("a.py", 3, 3, 1, 9), relay.Span("conv_1", 0, 0, 0, 0)
    x = relay.var("x", shape=(2, 2), span=second)
    op = relay.op.get("nn.relu")
    inner = relay.Call(op, [relay.Call(op, [x])], span=first)
    both = relay.Call(op, [inner], span=SequentialSpan([first, second]))
    trace = byoc_lab.trace(IRModule.from_expr(both), ["InferType"])
    made = _again(trace, tmp_path / "trace")
    _check_same(made, trace)
    found = [node.span for node in nodes_of(made.final) if isinstance(node, relay.Call)]
    assert set(found) == {None, first, SequentialSpan([first, second])}


def test_errors_are_restored(tmp_path: Path) -> None:
    mod = relay.parse(f'#[version = "0.0.5"]\n{NEVER_CLOSED}')
    trace = byoc_lab.trace(mod, ["InferType", "PartitionGraph"])
    made = _again(trace, tmp_path / "trace")
    _check_same(made, trace)
    assert isinstance(made.error, FreeVariableError) and made.error is made[-1].error
    assert str(made.error) == str(trace.error)
    assert [v.name_hint for v in made.error.variables] == [
        v.name_hint
        for v in trace.error.variables  # type: ignore[union-attr]
    ]

    @module_pass(opt_level=0)
    def parses(mod: IRModule, ctx: PassContext) -> IRModule:
        return relay.parse("no Relay")

    made = _again(byoc_lab.trace(mod, [parses]), tmp_path / "trace")
    assert isinstance(made.error, ParseError) and made.error.line == 1

    @module_pass(opt_level=0)
    def divides(mod: IRModule, ctx: PassContext) -> IRModule:
        raise ZeroDivisionError("by nothing")

    made = _again(byoc_lab.trace(mod, [divides]), tmp_path / "trace")
    assert isinstance(made.error, RecordedError)
    assert str(made.error) == "ZeroDivisionError: by nothing"
    with pytest.raises(RecordedError):
        _ = made.result
    with pytest.raises(StageIndexError):
        made[0].state_after(1)


def test_skipped_passes_are_restored(tmp_path: Path) -> None:
    with PassContext(opt_level=2):
        trace = byoc_lab.trace(mobilenet.module(32), "dnnl")
    made = _again(trace, tmp_path / "trace", constants=False)
    assert [str(f) for f in made.findings] == [str(f) for f in trace.findings]
    assert made.findings[0].message == (
        "BackwardFoldScaleAxis and ForwardFoldScaleAxis need opt_level 3, the context has 2"
    )


def test_file_of_format_version_1_is_read(tmp_path: Path) -> None:
    """A network with a composite, annotated inside and outside it, with an error, notes and
    spans."""
    trace = byoc_lab.load_trace(Path(__file__).parent / "golden" / "version_1.trace")
    assert [len(s.events) for s in trace] == [0, 0, 0, 0, 0, 0, 1, 9, 0, 6]
    assert [str(note) for note in trace["AnnotateTarget"].notes] == [
        "@main: refuse dnnl: erf(...) (dnnl does not list erf among its operators)"
    ]
    assert isinstance(trace.error, FreeVariableError) and len(trace.error.variables) == 4
    for stage in trace.stages[:-1]:
        assert stage.after is not None
        assert structural_equal(stage.state_after(len(stage.events)), stage.after)
    conv = next(n for n in nodes_of(trace.initial) if getattr(n, "op_name", "") == "nn.conv2d")
    assert conv.span is not None and conv.span.line == 4
    _check_same(_again(trace, tmp_path / "version 2"), trace)


def test_node_of_many_stages_is_written_once(tmp_path: Path) -> None:
    def nodes(passes: int) -> int:
        mod = IRModule.from_expr(relay.nn.relu(relay.exp(relay.var("x", shape=(2, 2)))))
        path = byoc_lab.trace(mod, ["InferType"] * passes).save(tmp_path / "trace")
        with zipfile.ZipFile(path) as archive:
            lines = archive.read("nodes.jsonl").splitlines()
        return sum(len(json.loads(line)) for line in lines)

    assert nodes(1) == nodes(5)


# Refused files


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    x = relay.var("x", shape=(2,))
    net = relay.add(x, relay.multiply(relay.const([2.0, 3.0]), relay.const([1.0, 5.0])))
    trace = byoc_lab.trace(IRModule.from_expr(net), ["InferType", "FoldConstant"])
    return trace.save(tmp_path / "trace")


def _changed(path: Path, **changes: Any) -> Path:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["trace.json"]) | changes
    members["trace.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_saved_trace_of_another_version_is_refused(saved: Path) -> None:
    message = "version 3; this byoc_lab reads versions 1 to 2. Save the trace again with this"
    with pytest.raises(TraceFileError, match=message):
        byoc_lab.load_trace(_changed(saved, version=3))
    with pytest.raises(TraceFileError, match="is not a saved trace"):
        byoc_lab.load_trace(_changed(saved, format="something else"))


def test_file_that_is_not_a_saved_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("def @main() { 1f }")
    with pytest.raises(TraceFileError, match=r"is not a saved trace, or it is damaged"):
        byoc_lab.load_trace(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", "file")
    with pytest.raises(TraceFileError, match="is damaged"):
        byoc_lab.load_trace(path)
    with pytest.raises(TraceFileError, match=r"cannot open .*missing: No such file"):
        byoc_lab.load_trace(tmp_path / "missing")


@settings(max_examples=some(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_refused(saved: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Any bytes replaced or truncated: the file is refused, or the trace is unchanged (the
    changed byte of a header is unused)."""
    content = bytearray(saved.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged"
    path.write_bytes(content)
    try:
        made = byoc_lab.load_trace(path)
    except TraceFileError:
        return
    _check_same(made, byoc_lab.load_trace(saved))


@pytest.mark.parametrize(
    "changes",
    [
        {"stages": 3},
        {"stages": [{}]},
        {"modules": [{"functions": [[10**9, 0]]}]},
        {"arrays": []},
        {"arrays": [{"dtype": "object", "shape": [2], "saved": True}]},
        {"arrays": [{"dtype": "float32", "shape": [-2], "saved": True}]},
        {"arrays": [{"dtype": "float32", "shape": [10**12], "saved": True}]},
        {"rounds": [{"function": "main", "root": -1, "made": [], "copies": []}]},
    ],
)
def test_contradictory_files_are_refused(saved: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(TraceFileError, match="is damaged"):
        byoc_lab.load_trace(_changed(saved, **changes))


def test_loading_unpickles_nothing(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("loading a trace unpickled something")

    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "Unpickler", refuse)
    assert len(byoc_lab.load_trace(saved)) == 2


def test_loaded_trace_is_displayed(saved: Path, tmp_path: Path) -> None:
    page = byoc_lab.load_trace(saved).save_html(tmp_path / "trace.html")
    assert "FoldConstant" in page.read_text()


@pytest.mark.slow
def test_file_that_unpacks_to_too_many_bytes_is_refused_before_unpacking(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    start = {"format": "byoc_lab.trace", "version": 2, "arrays": []}
    for name in ("trace.json", "arrays.bin", "nodes.jsonl"):  # in the order in which they are read
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            if name != "trace.json":
                archive.writestr("trace.json", json.dumps(start))
            if name == "nodes.jsonl":
                archive.writestr("arrays.bin", b"")
            with archive.open(name, "w") as member:
                for _ in range(300):
                    member.write(bytes(1 << 20))
        assert path.stat().st_size < 1 << 20
        with pytest.raises(TraceFileError, match=f"{name} has 314,572,800 bytes"):
            byoc_lab.load_trace(path)


def test_limit_of_bytes_can_be_given(saved: Path) -> None:
    with pytest.raises(
        TraceFileError, match=r"more than 100; .* load_trace\(path, max_bytes=\d+\)"
    ):
        byoc_lab.load_trace(saved, max_bytes=100)
