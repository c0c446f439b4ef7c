"""A region has the same name in sentences of passes, in findings, and on boxes of every state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import Stage, Trace, neighbourhood
from byoc_lab.lab.view.states.objects import state_and_ids
from byoc_lab.lab.view.states.part_steps import PartSteps
from byoc_lab.lab.view.states.whole_steps import WholeSteps
from byoc_lab.passes import Event
from byoc_lab.passes.framework.hook import Sentence
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.transform import (
    AnnotateTarget,
    MergeCompilerRegions,
    PartitionGraph,
)
from tests import strategies
from tests.lab.linting.random_annotated import random_module
from tests.lab.shortened import short_mobilenet
from tests.lab.view.samples import network
from tests.sweeps import some

JOINED = re.compile(
    r"(.*) and its user are both in region (\d+) of (\w+)(?:; (.*) was in region (\d+))?"
)
APART = re.compile(r"region (\d+) of (\w+)")
State = dict[str, Any]
Names = dict[str, list[str]]


def names_in(module: State) -> Names:
    """For each drawn operator, by id: the names of the regions around it, inner first.

    A region that has become a function has the function's name.
    """
    groups = module["scene"]["groups"]

    def around(place: int) -> Iterator[str]:
        while place >= 0:
            if groups[place]["kind"] in ("region", "external"):
                yield groups[place]["label"]
            place = groups[place]["group"]

    boxes = module["scene"]["boxes"]
    return {b["ids"][0]: list(around(b["group"])) for b in boxes if b["kind"] == "op" and b["ids"]}


class Drawn:
    """The drawn states of a trace; `checks` counts the compared names.

    every: draws each `every`-th rewrite, and the first and last of a stage.
    """

    def __init__(self, trace: Trace, every: int = 1):
        self.trace = trace
        self.every = every
        self.state, self.ids = state_and_ids(trace)
        self.checks = 0

    def check(self) -> None:
        for n, stage in enumerate(self.trace.stages):
            self.stage(n, stage)

    def stage(self, n: int, stage: Stage) -> None:
        shown = self.state["stages"][n]
        places = shown["before"], shown["before" if stage.after is None else "after"]
        before, after = (names_in(self.state["modules"][place]) for place in places)
        self.findings(stage, before)
        steps = WholeSteps(stage, self.ids)
        for k, event in enumerate(stage.events, 1):
            if k % self.every and k not in (1, len(stage.events)):
                continue
            step = steps.step(k, "picture")
            earlier, later = map(names_in, step["modules"])
            if k == 1:
                assert earlier.items() <= before.items()
            if k == len(stage.events) and stage.after is not None:
                assert all(later[i] == after[i] for i in later.keys() & after.keys())
            if stage.name == "PartitionGraph":
                for i in later.keys() & earlier.keys():  # no region is renamed
                    assert {n for n in later[i] if n[0] != "@"} <= set(earlier[i])
            self.sentence(stage, event, earlier, later)
        for i in before.keys() & after.keys():  # functions have the numbers of their regions
            if after[i] and after[i][0][0] == "@":
                assert after[i][0].partition(" · ")[2] == before[i][0].rpartition(" · ")[2]
                self.checks += 1
        self.notes(stage, after)

    def is_named(self, nodes: list[Expr], found: Names, *names: str) -> None:
        """Checks that the box of each of these operators has one of these names."""
        for node in nodes:
            ident = self.ids.get(node)
            if isinstance(node, Call) and isinstance(node.op, Op) and ident in found:
                assert found[ident][0] in names
                self.checks += 1

    def sentence(self, stage: Stage, event: Event, earlier: Names, later: Names) -> None:
        if not isinstance(event.told, Sentence):
            assert not re.search(r"region \d", event.reason)
            return
        came_from = stage.provenance.position
        if event.rule == "join regions":
            assert isinstance(event.before, Call)
            match = JOINED.fullmatch(event.reason)
            assert match
            _, number, target, mover, lost = match.groups()
            value = [event.before.args[0].args[0]]
            users = [n for n in post_order(event.told.round.root) if event.before in n.parts()]
            value, users = ([came_from(n) for n in nodes] for nodes in (value, users))
            kept = f"{target} · region {number}"
            self.is_named([*value, *users], later, kept)
            gone = kept if lost is None else f"{target} · region {lost}"
            by_user = mover in (None, "its user")
            self.is_named(users, earlier, gone if by_user else kept)
            self.is_named(value, earlier, kept if by_user else gone)
        else:
            number, target = APART.findall(event.reason)[0]
            sources = [came_from(node) for node in event.sources or ()]
            name = f"{target} · region {number}"
            _, is_function, function = event.reason.partition(" is the external function ")
            became = [f"{function} · region {number}"] if is_function else []
            self.is_named(sources, earlier, name, *became)

    def notes(self, stage: Stage, after: Names) -> None:
        for note in stage.notes:
            if note.rule == "keep apart":
                assert isinstance(note.node, Call)
                names = [f"{target} · region {n}" for n, target in APART.findall(note.reason)]
                users = [n for n in post_order(stage.before["main"]) if note.node in n.parts()]
                self.is_named(users, after, names[0])
                self.is_named([note.node.args[0].args[0]], after, names[-1])

    def findings(self, stage: Stage, before: Names) -> None:
        """Checks that the region named in a finding contains the finding's node or its operands."""
        for finding in stage.findings_before:
            for number, target in APART.findall(finding.message):
                node = finding.node
                assert isinstance(node, Expr)
                users = [n for n in post_order(stage.before["main"]) if node in n.parts()]
                near = [self.ids.get(n) for n in (node, *node.parts(), *users)]
                named = [before[i] for i in near if i in before]
                if named:
                    assert any(f"{target} · region {number}" in names for names in named)
                    self.checks += 1


def annotated_trace(mod: IRModule, *passes: Any) -> Trace:
    return byoc_lab.trace(mod, [*passes, MergeCompilerRegions(), PartitionGraph()], opt_level=4)


@pytest.mark.parametrize("layers", [1, 2])
def test_merged_regions_of_a_chain_keep_one_name(layers: int) -> None:
    """Each layer is three regions; the merged region keeps the name of the convolution's region."""
    trace = annotated_trace(network(layers), "SimplifyInference", AnnotateTarget("dnnl"))
    drawn = Drawn(trace)
    drawn.check()
    assert drawn.checks >= 10 * layers


def test_loaded_trace_has_the_region_names_of_the_saved_trace(tmp_path: Path) -> None:
    trace = annotated_trace(network(2), "SimplifyInference", AnnotateTarget("dnnl"))
    loaded = byoc_lab.load_trace(trace.save(tmp_path / "trace.byoc"))
    for mine, theirs in zip(trace, loaded, strict=True):
        assert list(map(str, mine.events)) == list(map(str, theirs.events))
    assert [m["scene"] for m in Drawn(trace).state["modules"]] == [
        m["scene"] for m in Drawn(loaded).state["modules"]
    ]


def test_functions_have_the_numbers_of_their_regions() -> None:
    """The numbers inside their symbols are TVM's, which are counted anew after merging."""
    trace = annotated_trace(network(2), "SimplifyInference", AnnotateTarget("dnnl"))
    labels = [
        {g["label"] for g in m["scene"]["groups"] if g["kind"] in ("region", "external")}
        for m in Drawn(trace).state["modules"]
    ]
    merged, functions = labels[-2:]
    assert {name for name in merged if "dnnl" in name} == {
        f"dnnl · {name.partition(' · ')[2]}" for name in functions
    }
    assert "@tvmgen_default_dnnl_main_2 · region 3" in functions


def test_regions_of_mobilenet_keep_their_names() -> None:
    mod, params = short_mobilenet()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    trace = annotated_trace(mod, "SimplifyInference", "FoldConstant", AnnotateTarget("dnnl"))
    drawn = Drawn(trace, every=5)
    drawn.check()
    assert drawn.checks > 30


@settings(max_examples=some(20))
@given(seed=st.integers(0, 10_000), data=st.data())
@pytest.mark.slow
def test_part_has_the_region_names_of_the_whole_module(seed: int, data: st.DataObject) -> None:
    trace = annotated_trace(random_module(seed))
    n = data.draw(st.integers(0, len(trace) - 1))
    _, ids = state_and_ids(trace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbourhood, "MAX_WHOLE", 0)
        patch.setattr(neighbourhood, "BLOCK", 1)
        steps, wholes = PartSteps(trace[n], ids), WholeSteps(trace[n], ids)
        for k in range(1, len(trace[n].events) + 1):
            if (part := steps.step(k)) is None:
                continue
            whole = wholes.step(k, "picture")
            for mine, theirs in zip(part["modules"], whole["modules"], strict=True):
                some, all_names = names_in(mine), names_in(theirs)
                assert all(some[i] == all_names[i] for i in some.keys() & all_names.keys())


@settings(max_examples=some(40))
@given(seed=st.integers(0, 10_000))
@example(seed=187)  # a pass that fails after two rewrites
@example(seed=241)  # a function is added between two rounds
@example(seed=7024)  # a failed pass made a function
@example(seed=6621)  # a pass with notes but without rewrites
@pytest.mark.slow
def test_regions_of_annotated_modules_keep_their_names(seed: int) -> None:
    Drawn(annotated_trace(random_module(seed))).check()


@settings(max_examples=some(30))
@given(mod=strategies.modules())
@pytest.mark.slow
def test_regions_keep_their_names_after_annotation(mod: IRModule) -> None:
    Drawn(annotated_trace(mod, "SimplifyInference", AnnotateTarget(strategies.TARGET))).check()
