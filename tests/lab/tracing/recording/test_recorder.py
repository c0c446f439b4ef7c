"""The recorder of TVM's passes, tested with stand-ins for the interfaces of several TVM
versions."""

from __future__ import annotations

import ast
import contextlib
import json
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byoc_lab import load_trace, relay, structural_equal
from byoc_lab.errors import RecordedError
from byoc_lab.lab.tracing.recording import recorder_source
from byoc_lab.passes import FoldConstant, InferType
from byoc_lab.relay import IRModule

WEIGHT = np.linspace(0, 1, 4000, dtype=np.float32)


class Info:
    """A stand-in for TVM's information on a pass."""

    def __init__(self, name: str, required: tuple[str, ...] = ()):
        self.name, self.required, self.opt_level = name, required, 0


class Context:
    """A stand-in for TVM's PassContext, with the members that the recorder uses."""

    opt_level = 3
    required_pass: tuple[str, ...] = ()
    disabled_pass = ("FuseOps",)
    current: Context

    def __init__(self, **options: Any):
        vars(self).update(options)

    def __enter__(self) -> Context:
        Context.current_ = self
        return self

    def __exit__(self, *_: object) -> None:
        for instrument in getattr(self, "instruments", ()):
            instrument.exit_pass_ctx()

    def run(self, mod: Any, name: str, run: Callable[[Any], Any]) -> Any:
        self._tell(mod, name, True)
        mod = run(mod)
        self._tell(mod, name, False)
        return mod

    def _tell(self, mod: Any, name: str, before: bool) -> None:
        if hasattr(self, "trace"):
            self.trace(mod, Info(name), before)
        for instrument in getattr(self, "instruments", ()):
            told = instrument.run_before_pass if before else instrument.run_after_pass
            told(mod, Info(name))


def fake_tvm(instruments: bool, hashes: bool) -> Any:
    tvm: Any = types.ModuleType("tvm")
    tvm.__version__ = "0.8.0" if instruments else "0.7.0"
    tvm.transform = types.SimpleNamespace(PassContext=Context)
    Context.current = staticmethod(lambda: Context.current_)  # type: ignore[assignment]
    tvm.ir = types.SimpleNamespace()
    if hashes:
        tvm.ir.structural_hash = relay.analysis.structural_hash
    if instruments:
        tvm.instrument = types.SimpleNamespace(pass_instrument=lambda kind: kind)
    return tvm


@pytest.fixture(params=[(False, False), (False, True), (True, False), (True, True)])
def recorder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module `tvm_recorder`, imported in a TVM with or without instruments and structural
    hashes."""
    monkeypatch.setitem(sys.modules, "tvm", fake_tvm(*request.param))
    module = types.ModuleType("tvm_recorder")
    exec(compile(recorder_source(), "tvm_recorder.py", "exec"), vars(module))
    yield module


def network(weight: np.ndarray = WEIGHT) -> IRModule:
    x = relay.var("x", shape=(4000,))
    total = relay.const(weight) + relay.const(1.0)
    return InferType()(IRModule.from_expr(relay.nn.relu(x + total)))


def test_recorder_source_is_valid_python_3_6() -> None:
    ast.parse(recorder_source(), feature_version=(3, 6))


def test_recorder_imports_only_tvm_and_the_standard_library() -> None:
    names = {
        alias.name
        for node in ast.walk(ast.parse(recorder_source()))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert names == {"hashlib", "json", "platform", "sys", "time", "tvm"}
    assert not any(isinstance(n, ast.ImportFrom) for n in ast.walk(ast.parse(recorder_source())))


def test_recording_is_read_back_as_the_same_trace(recorder: Any, tmp_path: Path) -> None:
    path = tmp_path / "passes.jsonl"
    before = network()
    with recorder.Recorder(str(path)) as recording, Context(**recording.options()) as context:
        after = context.run(before, "FoldConstant", FoldConstant())
        context.run(after, "InferType", InferType())
    trace = load_trace(path)
    assert [(s.name, s.changed) for s in trace] == [("FoldConstant", True), ("InferType", False)]
    assert structural_equal(trace.initial, before) and structural_equal(trace.final, after)
    assert trace.versions["tvm"].startswith("0.") and trace.error is None
    assert trace["FoldConstant"].opt_level == 3
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    (settings,) = (line for line in lines if line.get("event") == "context")
    assert settings["disabled_pass"] == ["FuseOps"]


def test_array_is_written_once(recorder: Any, tmp_path: Path) -> None:
    path = tmp_path / "passes.jsonl"
    mod = network()
    with recorder.Recorder(str(path)) as recording, Context(**recording.options()) as context:
        for n in range(5):
            mod = context.run(mod, f"Rename{n}", lambda m, n=n: renamed(m, n))
    assert path.read_text().count('"event": "array"') == 1
    assert path.read_text().count("def @main") == 6  # one for each different text
    assert [s.changed for s in load_trace(path)] == [False] * 5  # names are not structure


def test_modules_with_equal_text_and_other_weights_differ(recorder: Any, tmp_path: Path) -> None:
    path = tmp_path / "passes.jsonl"
    with recorder.Recorder(str(path)) as recording, Context(**recording.options()) as context:
        context.run(network(), "Scale", lambda mod: network(2 * WEIGHT))
    (stage,) = load_trace(path).stages
    assert stage.diff().summary == "constants of 1 call changed"


def renamed(mod: IRModule, n: int) -> IRModule:
    """The module with its parameter renamed."""
    return relay.parse(mod.astext().replace("%x", f"%x{n}").replace(f"%x{n - 1}{n}", f"%x{n}"))


def test_error_inside_a_pass_is_recorded(recorder: Any, tmp_path: Path) -> None:
    path = tmp_path / "passes.jsonl"

    def abort(mod: IRModule) -> IRModule:
        raise ValueError("no")

    recording = recorder.Recorder(str(path))
    context = Context(**recording.options())
    with pytest.raises(ValueError, match="no"), recording, context:
        context.run(network(), "Aborts", abort)
    trace = load_trace(path)
    assert isinstance(trace.error, RecordedError) and str(trace.error) == "ValueError: no"
    assert path.read_text().count('"event": "error"') == 1


def test_recording_continues_after_a_module_that_cannot_be_printed(
    recorder: Any, tmp_path: Path
) -> None:
    class Unprintable:
        def astext(self, show_meta_data: bool = True) -> str:
            raise RuntimeError("a null pointer")

    path = tmp_path / "passes.jsonl"
    with recorder.Recorder(str(path)) as recording, Context(**recording.options()) as context:
        context.run(network(), "Breaks", lambda mod: Unprintable())
    assert "TVM could not print it (RuntimeError: a null pointer)" in str(load_trace(path))


def test_time_of_a_pass_excludes_recording(
    recorder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(1000))  # the clock advances one second at each reading
    monkeypatch.setattr("time.time", lambda: float(next(now)))
    path = tmp_path / "passes.jsonl"
    with recorder.Recorder(str(path)) as recording, Context(**recording.options()) as context:
        context.run(network(), "InferType", InferType())
    (stage,) = load_trace(path).stages
    assert stage.seconds == 1.0


def test_passes_after_a_caught_error_are_recorded(recorder: Any, tmp_path: Path) -> None:
    path = tmp_path / "passes.jsonl"
    with recorder.Recorder(str(path)) as recording:
        with contextlib.suppress(ZeroDivisionError), Context(**recording.options()) as context:
            context.run(network(), "Aborts", lambda mod: 1 / 0)
        with Context(**recording.options()) as context:
            context.run(network(), "InferType", InferType())
    trace = load_trace(path)
    assert [(s.name, s.error is not None) for s in trace] == [
        ("Aborts", True),
        ("InferType", False),
    ]
    assert trace.error is None
