"""Steps of large modules: the part around a rewrite, with the ids of the whole module."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import Trace, neighbourhood
from byoc_lab.lab.view.states.objects import state_and_ids
from byoc_lab.lab.view.states.part_steps import PartSteps
from byoc_lab.lab.view.states.whole_steps import WholeSteps
from byoc_lab.lab.view.stepper import Stepper
from byoc_lab.relay import IRModule
from byoc_lab.transform import AnnotateTarget, InferType, PartitionGraph
from tests import strategies
from tests.lab.view.asking import shown_step
from tests.sweeps import some

PASSES = ["SimplifyInference", "FoldConstant", AnnotateTarget(strategies.TARGET), PartitionGraph()]


def operators(module: dict[str, Any]) -> set[str]:
    """The ids of the operator calls in a graph."""
    return {i for box in module["scene"]["boxes"] if box["kind"] == "op" for i in box["ids"][:1]}


@settings(max_examples=some(40))
@given(mod=strategies.modules(), part_first=st.booleans())
@pytest.mark.slow
def test_node_has_the_same_id_in_a_part_and_in_the_whole_module(
    mod: IRModule, part_first: bool
) -> None:
    trace = byoc_lab.trace(mod, PASSES, opt_level=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbourhood, "MAX_WHOLE", 0)
        for stage in trace.stages:
            for rewrite in range(1, len(stage.events) + 1):
                _, ids = state_and_ids(trace)
                part = PartSteps(stage, ids).step(rewrite) if part_first else None
                whole = WholeSteps(stage, ids).step(rewrite)
                part = part or PartSteps(stage, ids).step(rewrite)
                if part is not None:
                    for mine, theirs in zip(part["modules"], whole["modules"], strict=True):
                        assert operators(mine) <= operators(theirs)


@pytest.fixture(scope="module")
def trace() -> Trace:
    x: relay.Expr = relay.var("x", shape=(4,))
    for n in range(500):
        x = relay.erf(x) if n % 10 == 9 else relay.nn.relu(x)
    passes = [InferType(), AnnotateTarget("dnnl"), PartitionGraph()]
    return byoc_lab.trace(IRModule.from_expr(x), passes)


def test_rewrite_of_a_large_module_shows_the_part_around_it(trace: Trace) -> None:
    step = shown_step(Stepper(trace, index=1), 601)
    assert step["part"] == "Shown: 21 calls around it, of 500, as a module."
    assert step["pending"] == ""
    before, after = (module["scene"]["boxes"] for module in step["modules"])
    assert after[0]["lines"][0].endswith("calls before")
    assert after[-1]["lines"][0].endswith("calls after")
    assert {"input", "output"} == {b["kind"] for b in (after[0], after[-1])}
    ends = [int(b["lines"][0].split()[0].replace(",", "")) for b in (after[0], after[-1])]
    assert sum(ends) + 21 == 500
    assert len(before) == len(after) == 23
    assert sum(module["stats"]["offloaded"] for module in step["modules"]) > 0
    assert any(sign == "+" for sign, *_ in step["hunks"])
    text = [line for line, _ in step["modules"][1]["lines"]]
    assert text[0].startswith("def @main(%computed_before: (Tensor[(4), float32],)")


def test_part_shows_a_call_of_an_annotated_helper_without_its_body() -> None:
    h = relay.var("h", shape=(4,))
    mod = IRModule.from_expr(h)
    mod["helper"] = relay.Function([h], relay.nn.relu(h), relay.TensorType((4,)))
    x: relay.Expr = relay.Call(mod.get_global_var("helper"), [relay.var("x", shape=(4,))])
    for _ in range(500):
        x = relay.nn.relu(x)
    mod["main"] = relay.Function(relay.analysis.free_vars(x), x)
    annotated = byoc_lab.trace(mod, [InferType(), AnnotateTarget("dnnl")])
    events = enumerate(annotated[1].events, 1)
    rewrite = next(n for n, event in events if "call of global @helper" in str(event))
    step = shown_step(Stepper(annotated, index=1), rewrite)
    titles = {box["lines"][0] for box in step["modules"][1]["scene"]["boxes"]}
    assert step["part"] and "@helper" in titles
    assert not any("def @helper" in line for line, _ in step["modules"][1]["lines"])


def test_first_and_last_rewrites_of_a_pass_can_be_shown(trace: Trace) -> None:
    stepper = Stepper(trace, index=2)
    total = len(trace[2].events)
    for rewrite in (1, total // 2, total):
        step = shown_step(stepper, rewrite)
        assert step["part"]
        assert step["event"]["rule"] == trace[2].events[rewrite - 1].rule
    assert step["modules"][1]["scene"]["boxes"][-1]["lines"][0] == "output"


def test_cut_region_stays_a_region(trace: Trace) -> None:
    """An operator whose `compiler_begin` is not shown is still in its region."""
    merged = byoc_lab.trace(trace[2].before, ["MergeCompilerRegions"])
    step = shown_step(Stepper(merged), 300)
    scene = step["modules"][1]["scene"]
    regions = [group for group in scene["groups"] if group["kind"] == "region"]
    assert "are both in region 333 of dnnl" in step["event"]["reason"]
    assert "dnnl · region 333" in {group["label"] for group in regions}
    assert not any(crossing for _, _, crossing, _, _ in scene["arrows"])
