"""Messages to the page match their declared types, in Python and JavaScript."""

from __future__ import annotations

import importlib.util
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

import byoc_lab
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view import messages
from byoc_lab.lab.view.states.objects import state_and_ids, state_of
from byoc_lab.lab.view.states.parts import Parts
from byoc_lab.lab.view.states.rewrites import with_steps
from byoc_lab.lab.view.stepper import Stepper
from tests.lab.view.samples import chain, network

TOOL = Path(__file__).parents[3] / "tools" / "message_types.py"


def test_types_for_javascript_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("message_types", TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.FILE.read_text(encoding="utf-8") == tool.declarations(), "run make generate"


def problems(value: Any, hint: Any, where: str = "") -> Iterator[str]:
    """The paths at which a message does not have its declared type."""
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return
    if is_typeddict(hint):
        if not isinstance(value, dict):
            yield f"{where}: {hint.__name__} expected, found {value!r:.40}"
            return
        hints = get_type_hints(hint)
        missing, unknown = hint.__required_keys__ - value.keys(), value.keys() - hints.keys()
        if missing or unknown:
            yield f"{where}: {hint.__name__} without {missing}, with {unknown}"
        for key in value.keys() & hints.keys():
            yield from problems(value[key], hints[key], f"{where}.{key}")
    elif kind in (Union, types.UnionType):
        found = [list(problems(value, each, where)) for each in inner]
        yield from min(found, key=len)
    elif kind is Literal:
        if value not in inner:
            yield f"{where}: one of {inner} expected, found {value!r}"
    elif kind in (list, tuple):
        if not isinstance(value, (list, tuple)):
            yield f"{where}: a list expected, found {value!r:.40}"
            return
        items = inner[:1] * len(value) if kind is list or inner[1:] == (...,) else inner
        for n, (each, item) in enumerate(zip(value, items, strict=True)):
            yield from problems(each, item, f"{where}[{n}]")
    elif kind is dict:
        for key, each in value.items():
            yield from problems(each, inner[1], f"{where}[{key!r}]")
    elif not isinstance(value, (int, float) if hint is float else hint):
        yield f"{where}: {hint.__name__} expected, found {value!r:.40}"


@cache
def partitioned() -> Trace:
    return byoc_lab.trace(network(1), "dnnl")


def with_all_steps(trace: Trace) -> messages.State:
    state, ids = state_and_ids(trace)
    return with_steps(trace, ids, state)


STATES: dict[str, Callable[[], messages.State]] = {
    "trace with steps": lambda: with_all_steps(partitioned()),
    "trace that failed": lambda: state_of(chain(False)),
    "module": lambda: state_of(network()),
    "findings": lambda: state_of(byoc_lab.lint(partitioned().result)),
    "diff": lambda: state_of(partitioned().diff()),
    "comparison": lambda: state_of(byoc_lab.compare(partitioned(), chain(True))),
    "outline": lambda: Parts(partitioned(), whole=False).state,
}


@pytest.mark.parametrize("made", STATES.values(), ids=STATES)
def test_state_has_its_declared_type(made: Callable[[], messages.State]) -> None:
    state = made()
    assert state["stages"]
    assert list(problems(state, messages.State)) == []


@pytest.mark.parametrize("what", ["picture", "text"])
def test_part_has_its_declared_type(what: str) -> None:
    assert list(problems(Parts(chain(True), whole=False).part(1, what), messages.Part)) == []


@pytest.mark.parametrize(("what", "rewrite"), [("picture", 0), ("text", 1), ("ahead", 1)])
def test_answer_has_its_declared_type(what: Any, rewrite: int) -> None:
    trace = partitioned()
    stage = next(stage.index for stage in trace.stages if stage.events)
    asked = messages.Asked(stage=stage, rewrite=rewrite, what=what, page="", at=0)
    made = Parts(trace, whole=False).answer(asked)
    assert list(problems(made, messages.Answer)) == []


def test_overlays_have_their_declared_type() -> None:
    stepper = Stepper(partitioned())
    stepper.overlay(byoc_lab.explain(partitioned().initial, "dnnl"))
    assert stepper.overlays["tables"]
    assert list(problems(stepper.overlays, messages.Overlays)) == []


def test_message_that_violates_its_declared_type_is_reported() -> None:
    good: dict[str, Any] = {"sign": "+", "word": "changed", "kind": "changed"}
    assert list(problems(good, messages.Outcome)) == []
    for bad in ({**good, "more": 1}, {"sign": "+", "word": "changed"}, {**good, "sign": 1}):
        assert len(list(problems(bad, messages.Outcome))) == 1
