"""Recording a pipeline: stages, events, failures."""

from __future__ import annotations

import pytest
from byoc_lab.transform import (
    FoldConstant,
    FoldScaleAxis,
    InferType,
    PartitionGraph,
    SimplifyInference,
    module_pass,
)
from hypothesis import given, settings

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ByocLabError, FreeVariableError, PassError, UnknownNameError
from byoc_lab.passes import PassContext, Sequential
from byoc_lab.relay import IRModule, structural_equal
from tests import strategies

BATCH_NORM = """
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32],
          %g: Tensor[(4), float32], %b: Tensor[(4), float32],
          %m: Tensor[(4), float32], %v: Tensor[(4), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %g, %b, %m, %v);
  nn.relu(%1.0)
}
"""
NEVER_CLOSED = """
def @main(%x: Tensor[(2, 2), float32]) {
  %0 = annotation.compiler_begin(%x, compiler="A");
  nn.relu(%0)
}
"""


def _module(text: str = BATCH_NORM) -> IRModule:
    return relay.parse(f'#[version = "0.0.5"]\n{text}')


def test_every_stage_is_recorded() -> None:
    mod = _module()
    trace = byoc_lab.trace(mod, [InferType(), "SimplifyInference", FoldConstant()])
    assert [s.name for s in trace] == ["InferType", "SimplifyInference", "FoldConstant"]
    assert [s.changed for s in trace] == [False, True, False]
    assert trace.initial is mod
    assert trace["SimplifyInference"].before is trace[0].after
    assert all(s.seconds > 0 for s in trace)
    assert trace.error is None
    assert structural_equal(trace.result, SimplifyInference()(mod))


def test_rewrites_are_events_with_reasons() -> None:
    trace = byoc_lab.trace(_module(), ["SimplifyInference"])
    (event,) = trace[0].events
    assert event.rule == "batch_norm"
    assert "channel" in event.reason
    assert isinstance(event.before, relay.TupleGetItem)
    assert event.after.op.name == "add"


def test_sequences_are_opened_and_their_levels_respected() -> None:
    mod = SimplifyInference()(_module())
    with PassContext(opt_level=2):
        trace = byoc_lab.trace(mod, Sequential([FoldScaleAxis()]))
    names = [s.name for s in trace]
    assert names == ["BackwardFoldScaleAxis", "ForwardFoldScaleAxis", "FoldConstant"]
    assert {s.group for s in trace} == {"FoldScaleAxis"}
    assert [bool(s.skipped) for s in trace] == [True, True, False]
    assert "level 3 is above 2" in trace[0].skipped
    assert trace["FoldScaleAxis"] is trace[0]
    assert byoc_lab.trace(mod, FoldScaleAxis())[
        0
    ].changed  # level 3 where no context says otherwise


def test_a_pass_that_raises_ends_the_trace_and_loses_nothing() -> None:
    trace = byoc_lab.trace(_module(NEVER_CLOSED), [InferType(), PartitionGraph(), FoldConstant()])
    assert [s.name for s in trace] == ["InferType", "PartitionGraph"]
    last = trace[-1]
    assert isinstance(last.error, FreeVariableError)
    assert last.after is None
    assert trace.error is last.error
    assert trace.final is last.before
    assert [f.code for f in last.findings_before] == ["BYL002"]
    with pytest.raises(FreeVariableError):
        _ = trace.result


def test_any_exception_of_a_pass_is_kept() -> None:
    @module_pass(opt_level=0)
    def broken(mod: IRModule, ctx: PassContext) -> IRModule:
        raise ZeroDivisionError("from a user's pass")

    trace = byoc_lab.trace(_module(), [broken])
    assert trace[0].name == "broken"
    assert isinstance(trace.error, ZeroDivisionError)


def test_a_pass_must_give_a_module() -> None:
    @module_pass(opt_level=0)
    def forgetful(mod: IRModule, ctx: PassContext) -> None:
        return None

    trace = byoc_lab.trace(_module(), [forgetful])
    assert "must return an IRModule, found NoneType" in str(trace.error)


@pytest.mark.parametrize(
    ("mod", "pipeline", "error", "message"),
    [
        (relay.const(1), "dnnl", PassError, "trace takes an IRModule, found Constant"),
        (
            IRModule(),
            "no such",
            UnknownNameError,
            "no pipeline is named 'no such'; there are arm_compute_lib, bnns, ccompiler",
        ),
        (IRModule(), ["NoPass"], UnknownNameError, "no pass is named 'NoPass'"),
        (IRModule(), [3], PassError, "made of passes and their names, found 3"),
        (IRModule(), [], PassError, "has no passes"),
    ],
)
def test_bad_arguments_are_named(
    mod: IRModule, pipeline: object, error: type[ByocLabError], message: str
) -> None:
    with pytest.raises(error, match=message):
        byoc_lab.trace(mod, pipeline)  # type: ignore[arg-type]


@settings(max_examples=25)
@given(mod=strategies.modules())
def test_events_name_nodes_of_the_input(mod: IRModule) -> None:
    """What a fold replaces is a node of the stage's input, once each."""
    (stage,) = byoc_lab.trace(mod, [FoldConstant()])
    nodes = {n for f in mod.functions.values() for n in relay.visit.post_order(f)}
    replaced = [e.before for e in stage.events]
    assert len(set(replaced)) == len(replaced)
    assert set(replaced) <= nodes
    assert bool(stage.events) == stage.changed


def test_a_pass_can_be_watched_rewrite_by_rewrite() -> None:
    """MergeComposite, one match after the other; each state is the module in between."""
    stage = byoc_lab.trace(_module(), ["SimplifyInference"])[0]
    assert structural_equal(stage.state_after(0), stage.before)
    after = InferType()(stage.state_after(len(stage.events)))
    assert structural_equal(after, stage.after)
    with pytest.raises(IndexError, match=r"count must be in \[0, 1\], found 2"):
        stage.state_after(2)
