"""The part of a module around a rewrite: cut out exactly, with the names of the whole module."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import Stage, neighbourhood
from byoc_lab.lab.tracing.cutting import cut
from byoc_lab.lab.tracing.neighbourhood import Neighbourhood, Neighbourhoods
from byoc_lab.lab.tracing.nodes import nodes_of
from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.relay import Expr, Function, IRModule
from byoc_lab.relay.analysis.annotations import compiler_of
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.variables import free_vars
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.transform import AnnotateTarget, InferType, MergeCompilerRegions, PartitionGraph
from tests import strategies
from tests.passes.framework.test_hook import ALL
from tests.sweeps import some

PASSES = [name for name in ALL if name not in ("ToANormalForm", "ToBasicBlockNormalForm")]


@pytest.fixture(autouse=True)
def _no_function_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "MAX_WHOLE", 0)


def result_of(node: Expr, given_values: Mapping[Expr, Expr]) -> Expr:
    """A node of a part, with its given values replaced by the original expressions."""
    memo = {stand_in: value for value, stand_in in given_values.items()}
    return rebuild(node, lambda pre, post: post, memo=memo)


@settings(max_examples=some(60))
@given(mod=strategies.modules(), data=st.data())
def test_part_computes_the_same_as_the_function(mod: IRModule, data: st.DataObject) -> None:
    """With its given values replaced, each node of a part equals the original node."""
    func = mod["main"]
    nodes = [n for n in post_order(func.body) if n.parts() or isinstance(n, relay.Var)]
    wanted = set(data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=9)))
    part = cut(func, wanted, lambda node: node.checked_type if node.is_typed else None, {})
    if part is None:
        return
    for node, copy in part.copies.items():
        assert structural_equal(result_of(copy, part.given), node, map_free_vars=True)
    assert sum(part.calls) == sum(
        isinstance(n, relay.Call) and not n.op_name.startswith("annotation.")
        for n in post_order(func.body, enter=lambda n: not isinstance(n, Function))
    )


def same_body(one: Function, other: Function) -> bool:
    """Whether two functions have equal bodies; a part has no unused parameters."""
    closed = (Function(free_vars(func.body), func.body) for func in (one, other))
    return structural_equal(*closed)


def changed_stages(mod: IRModule, name: str) -> list[Stage]:
    return [s for s in byoc_lab.trace(mod, ALL[name], opt_level=4) if s.events]


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=some(8))
@given(mod=strategies.modules(), data=st.data())
def test_part_with_all_calls_equals_the_module(
    name: str, mod: IRModule, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbourhood, "BLOCK", 10_000)
        for stage in changed_stages(mod, name):
            count = data.draw(st.integers(1, len(stage.events)))
            step = Neighbourhoods(stage).step(count)
            if step is None:
                continue
            for side, state in ((step.before, count - 1), (step.after, count)):
                whole = stage.state_after(state)
                functions = {gv.name_hint: f for gv, f in whole.functions.items()}
                for gv, func in side.module.functions.items():
                    called = gv.name_hint if gv.name_hint != "main" else step.function
                    assert same_body(func, functions[called]), (stage.name, count)
                assert side.part.is_end and not side.part.given


def positions_in(part: Neighbourhood, stage: Provenance) -> dict[Expr, Expr]:
    """For the nodes of a part that exist in the whole module, their positions in each state."""
    return {
        node: stage.position(position)
        for node in nodes_of(part.module)
        if (position := part.position(node)) is not None
        and part.origins[node] not in part.part.given
    }


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=some(8))
@given(mod=strategies.modules(), data=st.data())
def test_nodes_of_a_part_are_nodes_of_the_state(
    name: str, mod: IRModule, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbourhood, "BLOCK", data.draw(st.integers(1, 4)))
        for stage in changed_stages(mod, name):
            count = data.draw(st.integers(1, len(stage.events)))
            step = Neighbourhoods(stage).step(count)
            if step is None:
                continue
            for side, state in ((step.before, count - 1), (step.after, count)):
                whole, provenance, _ = stage.followed(state)
                places = {provenance.position(node) for node in nodes_of(whole.module)}
                assert set(positions_in(side, stage.provenance).values()) <= places, (
                    stage.name,
                    count,
                )


def test_renamed_function_is_the_function_that_the_pass_added() -> None:
    x = relay.var("x", shape=(2, 3))
    mod = IRModule.from_expr(relay.add(x, x))
    stage = byoc_lab.trace(mod, ALL["all"])["PartitionGraph"]
    (added,) = (event.after for event in stage.events if event.rule == "add function")
    number = next(n for n, event in enumerate(stage.events, 1) if event.rule == "rename")
    step = Neighbourhoods(stage).step(number)
    assert step is not None
    name = stage.events[number - 1].function
    assert step.after.position(step.after.module[name]) is added


def test_part_around_an_annotation_counts_cut_regions() -> None:
    """The boundary of the part is inside regions, which are cut and counted."""
    x: Expr = relay.var("x", shape=(2, 3))
    for _ in range(60):
        x = relay.nn.relu(x)
    passes = [InferType(), AnnotateTarget("dnnl"), MergeCompilerRegions(), PartitionGraph()]
    trace = byoc_lab.trace(IRModule.from_expr(x), passes)
    merging = trace["MergeCompilerRegions"]
    step = Neighbourhoods(merging).step(30)
    assert step is not None
    part = step.after.part
    before, shown, later = part.calls
    assert shown - 3 * neighbourhood.BLOCK in (0, 1)  # an `end` became what was before the part
    assert before + shown + later == 60
    assert {compiler_of(begin) for begin in part.regions.values()} == {"dnnl"}
    assert not part.is_end
    assert step.after.module["main"].is_typed
    assert len(step.diff.changes) >= 1


def test_small_function_is_shown_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    x = relay.nn.relu(relay.var("x", shape=(2,)))
    stage = byoc_lab.trace(IRModule.from_expr(x), [AnnotateTarget("dnnl")])[0]
    assert Neighbourhoods(stage).step(1) is None
