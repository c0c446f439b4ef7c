"""The state of a large trace, sent in parts on request."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.displays import mimebundle
from byoc_lab.lab.view.states import parts, rewrites
from byoc_lab.lab.view.states.objects import state_and_ids
from byoc_lab.lab.view.states.parts import Parts, is_large
from byoc_lab.lab.view.states.rewrites import Steps
from byoc_lab.lab.view.states.state import Builder, trace_state
from byoc_lab.lab.view.stepper import Stepper
from tests.lab.view.asking import ask, shown_step
from tests.lab.view.samples import chain, mobilenet


def as_one(trace: Trace, indices: list[int]) -> dict[str, Any]:
    """The state in the browser after it has received the list of stages and all parts."""
    made = Parts(trace, whole=False)
    state = json.loads(json.dumps(made.state))
    held: dict[int, dict[str, Any]] = dict(enumerate(state["modules"]))
    for index in indices:
        for what in ("picture", "picture", "text"):
            part = json.loads(json.dumps(made.part(index, what)))
            for n, module in part["modules"]:
                assert n not in held, "each module is sent once"
                if "drawn" in module:
                    module["scene"] = held[module.pop("drawn")]["scene"]
                held[n] = module
            state["stages"][index] = part["stage"]
    return {**state, "modules": [held[n] for n in range(len(held))]}


def shown(state: dict[str, Any], index: int) -> list[Any]:
    """A stage with its modules in place of their indices."""
    stage = dict(state["stages"][index])
    sides = [stage.pop(side) for side in ("before", "after")]
    return [stage, *(None if n is None else state["modules"][n] for n in sides)]


@pytest.mark.parametrize("traced", [chain, mobilenet])
def test_parts_together_equal_the_whole_state(traced: Callable[[], Trace]) -> None:
    trace = traced()
    whole = json.loads(json.dumps(trace_state(trace)))
    parted = as_one(trace, list(range(len(trace))))
    renamed: dict[str, str] = {}
    for n in range(len(trace)):
        a, b = shown(whole, n), shown(parted, n)
        assert _same(a, b, renamed), trace[n].name


def _same(a: Any, b: Any, renamed: dict[str, str]) -> bool:
    """Whether two states are equal up to a one-to-one renaming of ids."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k], renamed) for k in a)
    if isinstance(a, list):
        if a and all(isinstance(x, str) and x[:1] == "n" and x[1:].isdigit() for x in a):
            return len(a) == len(b)  # a set of ids, sorted by name
        return len(a) == len(b) and all(_same(x, y, renamed) for x, y in zip(a, b, strict=True))
    if isinstance(a, str) and isinstance(b, str) and a != b:
        without_ids = [re.sub(r"\bn\d+\b", "n", text) for text in (a, b)]
        return without_ids[0] == without_ids[1] and renamed.setdefault(a, b) == b
    return bool(a == b)


def test_any_stage_can_be_requested_first() -> None:
    trace = mobilenet()
    last = len(trace) - 1
    state = as_one(trace, [last, 1])
    assert state["stages"][last]["pending"] == state["stages"][1]["pending"] == ""
    assert state["stages"][0]["pending"] == "all"
    before = state["modules"][state["stages"][1]["before"]]
    after = state["modules"][state["stages"][last]["after"]]
    convs = [{i for t, i in m["lines"] if "nn.conv2d(" in t} for m in (before, after)]
    assert convs[0] == convs[1], "nodes keep their ids"


def test_size_is_checked_before_the_state_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_large(mobilenet())
    monkeypatch.setattr(parts, "MAX_NODES", 1000)
    assert is_large(mobilenet())
    bundle = mimebundle(mobilenet())
    assert "<iframe" not in bundle["text/html"], "the page of a large trace takes seconds"
    assert "PartitionGraph" in bundle["text/plain"]


def test_stepper_sends_parts_of_a_large_trace_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_NODES", 10)
    stepper = Stepper(chain(), index=0)
    assert stepper.answer["asked"]["stage"] == 0
    assert stepper.answer["part"]["stage"]["pending"] == "text"
    picture = ask(stepper, 1, "picture")
    assert picture["asked"]["stage"] == 1
    assert picture["part"]["stage"]["pending"] == "text"
    text = ask(stepper, 1, "text")["part"]
    assert text["stage"]["pending"] == ""
    assert text["stage"]["hunks"]


def test_graph_of_the_result_is_sent_before_the_graph_of_the_input() -> None:
    made = Parts(chain(fixed=True), whole=False)
    stage, *others = (made.part(2)["stage"] for _ in range(3))
    assert (stage["before"], stage["pending"]) == (parts.EMPTY, "before")
    assert [s["pending"] for s in others] == ["text", "text"]
    assert others[0]["before"] != parts.EMPTY
    assert made.part(1)["stage"]["pending"] == "before"
    assert made.part(0)["stage"]["pending"] == "text", "the ids come from its input"
    following = made.part(1)["stage"], made.part(2, "text")["stage"]
    assert [s["pending"] for s in following] == ["text", ""]


def test_module_is_sent_again_only_to_a_reloaded_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "MAX_NODES", 10)
    stepper = Stepper(chain(), index=0)
    first = ask(stepper, 1, "picture")["part"]
    assert len(first["modules"]) == 1, "the module before the stage was sent with the first part"
    assert ask(stepper, 1, "picture")["part"]["modules"] == []
    again = ask(stepper, 1, "picture", page="second")["part"]
    stage = again["stage"]
    assert {stage["before"], stage["after"]} == {n for n, _ in again["modules"]}
    assert stepper.answer["asked"]["page"] == "second"
    text = ask(stepper, 1, "text", page="second")["part"]
    scenes = {n: module["scene"] for n, module in again["modules"]}
    assert all(scenes[module["drawn"]] for _, module in text["modules"]), "a scene is sent once"


def test_graph_of_a_step_is_sent_before_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_NODES", 10)
    monkeypatch.setattr(rewrites, "MAX_WITH_TEXT", 10)
    trace = mobilenet()
    stepper = Stepper(trace, index=1)
    picture = shown_step(stepper, 3)
    assert picture["pending"] == "text"
    assert [m["lines"] for m in picture["modules"]] == [[], []]
    text = ask(stepper, 1, "text", 3)["step"]
    assert text["pending"] == ""
    assert text["hunks"]
    assert [m["scene"] for m in text["modules"]] == [m["scene"] for m in picture["modules"]]
    assert text == Steps(trace, stepper._parts.ids).step(1, 3, "text")


def test_next_step_is_computed_in_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_NODES", 10)
    stepper = Stepper(mobilenet(), index=1)
    for rewrite, stage in ((1, 1), (0, 4)):
        ahead = ask(stepper, stage, "ahead", rewrite)
        assert (ahead["part"], ahead["step"]) == (None, None)
    drawings: list[Any] = []
    monkeypatch.setattr(Builder, "_draw", lambda *_: drawings.append(1))
    ask(stepper, 4, "picture")
    assert shown_step(stepper, 1)["modules"][1]["scene"]
    assert not drawings


def test_nearest_stages_are_computed_first() -> None:
    trace = mobilenet()

    def computed(seconds: float) -> list[int]:
        made: list[int] = []
        found = Parts(trace, whole=False)
        found.prepare = lambda index, rewrite=0: made.append(index)  # type: ignore[method-assign]
        found.prepare_near(3, seconds)
        return made

    assert computed(0) == [3]
    assert computed(60)[:3] == [3, 2, 4]
    assert sorted(computed(60)) == list(range(len(trace)))


def test_step_shares_the_graph_with_the_previous_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrites, "MAX_WITH_TEXT", 10)
    trace = mobilenet()
    made = Steps(trace, state_and_ids(trace)[1])
    first, second = (made.step(1, rewrite, "picture")["modules"] for rewrite in (1, 2))
    assert second[0]["scene"] is first[1]["scene"]
    text = made.step(1, 2, "text")["modules"]
    assert [module["scene"] for module in text] == [module["scene"] for module in second]


def test_stages_with_the_same_functions_share_their_graph() -> None:
    trace = mobilenet()
    made = Parts(trace, whole=False)
    n = next(n for n, s in enumerate(trace.stages) if n and not s.changed and s.after)
    part = made.part(n)
    assert part["stage"]["before"] == part["stage"]["after"]
    assert len(part["modules"]) == 1


def test_garbage_collection_is_enabled_again_after_a_part() -> None:
    Parts(chain(), whole=False).part(0)
    assert gc.isenabled()


def test_parts_and_steps_leave_no_reference_cycles() -> None:
    trace, kinds = mobilenet(), ("picture", "text")
    merge, partition = trace["MergeComposite"].index, trace["PartitionGraph"].index
    made = Parts(trace, whole=False)
    steps = Steps(trace, made.ids, made.follow)
    for what in kinds:
        made.part(merge, what)  # modules imported at their first use
        steps.step(merge, 1, what)
    gc.collect()
    gc.disable()
    try:
        for what in kinds:
            made.part(partition, what)
            steps.step(merge, 2, what)
            steps.step(partition, 1, what)
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("wanted", [{"stage": 99}, {"stage": -1}, {"rewrite": 9_999}])
def test_request_for_a_missing_stage_sends_nothing(
    wanted: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MAX_NODES", 10)
    stepper = Stepper(mobilenet())
    before = stepper.answer
    stepper.asked = {"stage": 1, "rewrite": 0, "what": "ahead", "page": "first", **wanted}
    assert stepper.answer is before
