"""The groups in a graph stay the same from rewrite to rewrite of a pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.drawing import groups, pass_fold, sections
from byoc_lab.lab.view.states.objects import state_and_ids
from byoc_lab.lab.view.states.whole_steps import WholeSteps
from byoc_lab.relay import IRModule, nn
from byoc_lab.transform import AnnotateTarget, MergeCompilerRegions, PartitionGraph
from tests import strategies
from tests.lab.linting.random_annotated import random_module
from tests.lab.view.samples import mobilenet
from tests.sweeps import some

Scene = dict[str, Any]


class Folded:
    """The groups around the boxes of a scene.

    paths: the names of the detected groups, by the id of the box; frames: the boxes of each region
    and function.
    """

    def __init__(self, scene: Scene):
        self.paths: dict[str, list[str]] = {}
        self.frames: dict[str, set[str]] = {}
        self.members: dict[str, set[str]] = {}
        self.open = {group["id"]: group["open"] for group in scene["groups"]}
        for box in scene["boxes"]:
            if not box["ids"]:
                continue
            path = []
            place = box["group"]
            while place >= 0:
                group = scene["groups"][place]
                is_frame = group["kind"] in pass_fold.FRAMES
                # equal for parts of a group that a region divides
                name = group["id"].rpartition("/")[2]
                known = self.frames if is_frame else self.members
                known.setdefault(name, set()).add(box["id"])
                path += [] if is_frame else [name]
                place = group["group"]
            self.paths[box["id"]] = path


def changes(before: Folded, after: Folded) -> list[str]:
    """Boxes of both states whose groups changed.

    Groups that became a region or function with all their boxes, or came from one, are ignored.
    """

    def replaced(name: str) -> bool:
        return any(
            name in one.members and one.members[name] in other.frames.values()
            for one, other in ((before, after), (after, before))
        )

    return [
        f"{ident}: {before.paths[ident]}, then {after.paths[ident]}"
        for ident in before.paths.keys() & after.paths.keys()
        if any(
            name not in path and not replaced(name)
            for one, path in ((before, after.paths[ident]), (after, before.paths[ident]))
            for name in one.paths[ident]
        )
    ]


def check(trace: Trace, every: int = 1) -> int:
    """Checks the rewrites of a trace; returns the number of compared boxes in groups.

    every: compares each `every`-th rewrite of a stage.
    """
    _, ids = state_and_ids(trace)
    found = 0
    for stage in trace.stages:
        steps = WholeSteps(stage, ids)
        for k in range(1, len(stage.events) + 1, every):
            modules = steps.step(k, "picture")["modules"]
            before, after = (Folded(module["scene"]) for module in modules)
            assert not changes(before, after), (stage.name, k, str(stage.events[k - 1]))
            both = before.open.keys() & after.open.keys()
            assert all(before.open[group] == after.open[group] for group in both)
            found += sum(map(bool, after.paths.values()))
    return found


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowers the limits, so that groups of every kind are detected in small modules."""
    for module, name, value in (
        (groups, "MAX_LOOSE", 5),
        (pass_fold, "MAX_LOOSE", 5),
        (groups, "MAX_LOOSE_MEMBERS", 4),
        (groups, "MAX_INPUTS", 2),
        (groups, "MAX_OPEN", 8),
        (sections, "MAX_MEMBERS", 6),
        (sections, "MIN_SIZE", 2),
    ):
        monkeypatch.setattr(module, name, value)


def layers(count: int) -> IRModule:
    """Convolution, batch norm and relu, `count` times, with parameters."""
    x, channels = relay.var("x", shape=(1, 3, 32, 32)), 3
    for n in range(count):
        weight = relay.var(f"w{n}", shape=(16, channels, 3, 3))
        norm = [relay.var(f"{name}{n}", shape=(16,)) for name in ("gamma", "beta", "mean", "var")]
        x, channels = nn.relu(nn.batch_norm(nn.conv2d(x, weight, padding=1), *norm)[0]), 16
    return IRModule.from_expr(x)


def test_blocks_of_a_chain_stay_the_same() -> None:
    assert check(byoc_lab.trace(layers(9), "dnnl"), every=25) > 60


def test_blocks_of_mobilenet_stay_the_same() -> None:
    assert check(mobilenet(), every=60) > 200


def test_repeated_group_split_by_a_region_states_the_number_of_blocks_in_each_part() -> None:
    trace = byoc_lab.trace(layers(9), "dnnl")
    stage = next(s for s in trace.stages if s.name == "MergeCompilerRegions")
    steps = WholeSteps(stage, state_and_ids(trace)[1])
    said = set()
    for k in range(1, len(stage.events) + 1, 9):
        scene = steps.step(k, "picture")["modules"][1]["scene"]
        for n, repeat in enumerate(scene["groups"]):
            if repeat["kind"] == "repeat":
                inside = [g for g in scene["groups"] if is_inside(scene, g, n)]
                blocks = {g["label"] for g in inside if g["kind"] == "copy"}
                count = len(blocks)
                assert blocks <= {f"block {n} of 8" for n in range(1, 9)}
                assert repeat["label"] == ("8 times" if count == 8 else f"{count} of 8 times")
                said.add(count)
    assert 8 in said and len(said) > 1


def is_inside(scene: Scene, group: dict[str, Any], outer: int) -> bool:
    place = group["group"]
    while place >= 0 and place != outer:
        place = scene["groups"][place]["group"]
    return bool(place == outer)


@settings(max_examples=some(30), deadline=None)
@given(mod=strategies.modules())
@pytest.mark.slow
@pytest.mark.usefixtures("small_limits")
def test_groups_of_random_modules_stay_the_same(mod: IRModule) -> None:
    passes = ["SimplifyInference", "FoldConstant", AnnotateTarget(strategies.TARGET)]
    check(byoc_lab.trace(mod, [*passes, MergeCompilerRegions(), PartitionGraph()], opt_level=4))


@settings(max_examples=some(30), deadline=None)
@given(seed=st.integers(0, 10_000))
@pytest.mark.slow
@pytest.mark.usefixtures("small_limits")
def test_groups_of_annotated_modules_stay_the_same(seed: int) -> None:
    passes = [MergeCompilerRegions(), PartitionGraph()]
    check(byoc_lab.trace(random_module(seed), passes, opt_level=4))


@pytest.mark.slow
def test_blocks_of_inception_stay_the_same() -> None:
    mod, params = relay.testing.inception_v3.get_workload()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    assert check(byoc_lab.trace(mod, "dnnl"), every=60) > 1000
