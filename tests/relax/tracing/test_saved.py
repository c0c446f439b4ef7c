"""Relax traces in files: saved, loaded, pickled, and as a page."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import byoc_lab
from byoc_lab.errors import ForeignModuleError
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.states import parts
from byoc_lab.lab.view.states.state import trace_state
from byoc_lab.relay.ir.foreign import ForeignModule

from .networks import BRANCHES, dnnl_passes, resnet, transform


@pytest.fixture(scope="module")
def recorded() -> Trace:
    return byoc_lab.trace(resnet(2), [*dnnl_passes(), transform.RunCodegen(), "LegalizeOps"])


def same(a: Trace, b: Trace) -> None:
    assert str(a) == str(b)
    for one, two in zip(a, b, strict=True):
        assert str(one.after) == str(two.after)
        assert one.diff().summary == two.diff().summary
        assert [str(f) for f in one.findings_after] == [str(f) for f in two.findings_after]
    assert trace_state(a)["modules"] == trace_state(b)["modules"]


def test_saved_trace_has_text_graph_differences_and_findings(
    recorded: Trace, tmp_path: Path
) -> None:
    loaded = byoc_lab.load_trace(recorded.save(tmp_path / "relax.trace"))
    same(recorded, loaded)
    assert isinstance(loaded.final, ForeignModule) and loaded.versions == recorded.versions
    assert type(loaded[0]).__name__ == "Stage"  # which is not run again as a pass of Relay


def test_trace_is_pickled(recorded: Trace) -> None:
    same(recorded, pickle.loads(pickle.dumps(recorded)))


def test_functions_that_need_the_module_refuse_a_loaded_trace(
    recorded: Trace, tmp_path: Path
) -> None:
    mod = byoc_lab.load_trace(recorded.save(tmp_path / "relax.trace")).initial
    for ask in (
        lambda: byoc_lab.trace(mod, "dnnl"),
        lambda: byoc_lab.explain(mod, "dnnl"),
        lambda: byoc_lab.coverage(mod, "dnnl"),
        lambda: byoc_lab.validate(mod, mod),
        lambda: byoc_lab.explain_patterns([], mod),
    ):
        with pytest.raises(ForeignModuleError, match="needs the original module of relax"):
            ask()


def test_page_has_every_stage(recorded: Trace, tmp_path: Path) -> None:
    page = recorded.save_html(tmp_path / "relax.html")
    assert page.read_text().startswith("<!doctype html>")
    state = trace_state(recorded)
    assert [s["name"] for s in state["stages"]] == [s.name for s in recorded]
    for module in state["modules"]:
        assert module["scene"]["boxes"] and module["lines"][0][0] == "@I.ir_module"
    regions = state["modules"][state["stages"][4]["after"]]["scene"]["groups"]
    assert {g["compiler"] for g in regions if g["kind"] == "external"} == {"dnnl"}


def test_nodes_keep_their_ids_from_stage_to_stage(recorded: Trace) -> None:
    state = trace_state(recorded)
    boxes = [
        {tuple(b["lines"]): b["id"] for b in module["scene"]["boxes"] if b["kind"] == "input"}
        for module in state["modules"]
    ]
    assert len(boxes) > 3 and all(b == boxes[0] for b in boxes)


def test_module_is_displayed() -> None:
    assert "R.match_cast" in str(byoc_lab.trace(BRANCHES, "DeadCodeElimination").initial)
    bundle = byoc_lab.trace(BRANCHES, "DeadCodeElimination").initial._repr_mimebundle_()
    assert "text/html" in bundle


def test_large_trace_is_sent_in_parts(
    recorded: Trace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parts, "MAX_NODES", 10)
    assert parts.is_large(recorded)
    sent = parts.Parts(recorded)
    assert [s["pending"] for s in sent.state["stages"]] == ["all"] * len(recorded)
    *pictures, whole = (sent.part(4, what) for what in ("picture", "picture", "text"))
    assert [part["stage"]["pending"] for part in pictures] == ["before", "text"]
    assert whole["stage"]["pending"] == ""
    assert "moved into" in whole["stage"]["summary"]
    assert recorded.save_html(tmp_path / "large.html").stat().st_size > 10_000


def test_widget_selects_nodes(recorded: Trace) -> None:
    stepper = pytest.importorskip("byoc_lab.lab.view.stepper")
    shown = stepper.Stepper(recorded)
    shown.index = 0
    node = recorded.initial["main"].body
    shown.selected = node
    assert shown.selected is node and shown.stage is recorded[0]
