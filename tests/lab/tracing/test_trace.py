"""`trace`: stages, groups, levels, events, failures and invalid arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import lint, relay
from byoc_lab.backends import partition
from byoc_lab.errors import ByocLabError, FreeVariableError, PassError, UnknownNameError
from byoc_lab.passes import Pass, PassContext, PassInfo, Sequential
from byoc_lab.passes.framework.instrument import PassInstrument
from byoc_lab.passes.framework.pipelines import register_pipeline
from byoc_lab.relay import IRModule, structural_equal
from byoc_lab.transform import (
    AnnotateTarget,
    FoldConstant,
    FoldScaleAxis,
    InferType,
    PartitionGraph,
    SimplifyInference,
    module_pass,
)
from tests import strategies
from tests.sweeps import some

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


def test_rewrites_are_recorded_as_events_with_reasons() -> None:
    trace = byoc_lab.trace(_module(), ["SimplifyInference"])
    (event,) = trace[0].events
    assert event.rule == "batch_norm"
    assert "channel" in event.reason
    assert isinstance(event.before, relay.TupleGetItem)
    assert event.after.op.name == "add"


def test_sequences_are_expanded_with_their_levels() -> None:
    mod = SimplifyInference()(_module())
    with PassContext(opt_level=2):
        trace = byoc_lab.trace(mod, Sequential([FoldScaleAxis()]))
    names = [s.name for s in trace]
    assert names == ["BackwardFoldScaleAxis", "ForwardFoldScaleAxis", "FoldConstant"]
    assert {s.group for s in trace} == {"FoldScaleAxis"}
    assert [bool(s.skipped) for s in trace] == [True, True, False]
    assert trace[0].skipped == "it needs opt_level 3, the context has 2"
    assert trace["FoldScaleAxis"] is trace[0]
    assert byoc_lab.trace(mod, FoldScaleAxis())[0].skipped  # skipped, as in FoldScaleAxis()(mod)
    assert byoc_lab.trace(mod, FoldScaleAxis(), opt_level=3)[0].changed


def test_named_pipeline_runs_at_its_own_level() -> None:
    """Pipelines of back ends run at level 3, as partition_for_dnnl does; a Sequential at TVM's
    level 2."""
    mod = _module()
    trace = byoc_lab.trace(mod, "dnnl")
    assert not any(s.skipped for s in trace)
    passes = byoc_lab.passes.named_pipeline("dnnl")
    listed = byoc_lab.trace(mod, passes)
    assert structural_equal(listed.result, Sequential(passes)(mod))
    assert [s.name for s in listed if s.skipped] == [
        "BackwardFoldScaleAxis", "ForwardFoldScaleAxis",
    ]  # fmt: skip
    register_pipeline("test of a level", lambda: [FoldConstant()], opt_level=1)
    assert byoc_lab.trace(mod, "test of a level")[0].skipped


def test_skipped_pass_is_a_finding() -> None:
    with PassContext(opt_level=2, disabled_pass=["FoldConstant"]):
        trace = byoc_lab.trace(_module(), "dnnl")
    assert trace["FoldConstant"].skipped == "it is disabled"
    hint, finding = trace.findings
    assert hint.message == "FoldConstant was skipped: it is disabled"
    assert [str(f.severity) for f in trace.findings] == ["info", "warning"]
    assert finding.message == (
        "BackwardFoldScaleAxis and ForwardFoldScaleAxis need opt_level 3, the context has 2"
    )
    assert "PassContext(opt_level=3)" in finding.what_to_do
    assert byoc_lab.trace(_module(), "dnnl").findings == []


def test_order_of_passes_that_offloads_less_is_a_finding() -> None:
    swapped = ["InferType", "MergeCompilerRegions", AnnotateTarget("dnnl"), PartitionGraph()]
    (found,) = lint(_module(), swapped)
    first = byoc_lab.trace(_module(), swapped).findings[0]
    assert first.code == "BYL040" and first.message == found.message


def test_pass_that_raises_ends_the_trace_and_earlier_stages_stay() -> None:
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


def test_pass_that_returns_no_module_ends_the_trace() -> None:
    @module_pass(opt_level=0)
    def forgetful(mod: IRModule, ctx: PassContext) -> None:
        return None

    trace = byoc_lab.trace(_module(), [forgetful])
    assert "must return an IRModule, found NoneType" in str(trace.error)


@pytest.mark.parametrize(
    ("mod", "pipeline", "error", "message"),
    [
        (relay.const(1), "dnnl", PassError, "trace expects an IRModule, found Constant"),
        (
            IRModule(),
            "no such",
            UnknownNameError,
            "no pipeline is named 'no such'; there are .*ccompiler",
        ),
        (IRModule(), ["NoPass"], UnknownNameError, "no pass is named 'NoPass'"),
        (IRModule(), [3], PassError, "consists of passes, names of passes and functions, found 3"),
        (IRModule(), [], PassError, "has no passes"),
    ],
)
def test_invalid_arguments_are_named_in_the_error(
    mod: IRModule, pipeline: object, error: type[ByocLabError], message: str
) -> None:
    with pytest.raises(error, match=message):
        byoc_lab.trace(mod, pipeline)  # type: ignore[arg-type]


@settings(max_examples=some(25))
@given(mod=strategies.modules())
def test_events_refer_to_nodes_of_the_input(mod: IRModule) -> None:
    """Each node that folding replaces is a node of the stage's input, and is replaced once."""
    (stage,) = byoc_lab.trace(mod, [FoldConstant()])
    nodes = {n for f in mod.functions.values() for n in relay.ir.visit.post_order(f)}
    replaced = [e.before for e in stage.events]
    assert len(set(replaced)) == len(replaced)
    assert set(replaced) <= nodes
    assert bool(stage.events) == stage.changed


def test_states_between_the_rewrites_of_a_pass_can_be_computed() -> None:
    """For MergeComposite, each state is the module after one more match."""
    stage = byoc_lab.trace(_module(), ["SimplifyInference"])[0]
    assert structural_equal(stage.state_after(0), stage.before)
    after = InferType()(stage.state_after(len(stage.events)))
    assert structural_equal(after, stage.after)
    with pytest.raises(IndexError, match=r"count must be in \[0, 1\], found 2"):
        stage.state_after(2)


# A trace runs the same passes as the pipeline without it


class _Observer(PassInstrument):
    """Records the names of passes that run, and declines the given passes."""

    def __init__(self, declined: Collection[str] = ()):
        self.passes: list[str] = []
        self.contexts = 0
        self._declined = declined

    def enter_pass_ctx(self) -> None:
        self.contexts += 1

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        return info.name not in self._declined

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.passes.append(info.name)


MEMBERS: tuple[Callable[[], Pass], ...] = (
    InferType,
    SimplifyInference,
    FoldConstant,
    FoldScaleAxis,
    relay.transform.CanonicalizeOps,
    relay.transform.ToBasicBlockNormalForm,
    relay.transform.RemoveUnusedFunctions,
    relay.transform.ToANormalForm,
    relay.transform.SimplifyExpr,
    relay.transform.FoldExplicitPadding,
)
NAMES = st.sampled_from(
    [
        "SimplifyInference",
        "FoldConstant",
        "SimplifyExpr",
        "inner",
        "outer",
        "FoldScaleAxis",
        "InferType",
    ]
)
PIPELINES: st.SearchStrategy[Pass] = st.recursive(
    st.sampled_from(MEMBERS).map(lambda make: make()),
    lambda inner: st.builds(
        Sequential,
        st.lists(inner, min_size=1, max_size=4),
        opt_level=st.integers(0, 4),
        name=st.sampled_from(["sequential", "inner", "outer"]),
        required=st.lists(st.sampled_from(["InferType", "SimplifyInference"]), max_size=2),
    ),
    max_leaves=8,
)


@settings(max_examples=some(60), deadline=None)
@given(
    mod=strategies.modules(),
    pipeline=PIPELINES,
    level=st.integers(0, 4),
    required=st.lists(NAMES, max_size=2),
    disabled=st.lists(NAMES, max_size=2),
    declined=st.lists(NAMES, max_size=1),
)
def test_trace_runs_the_same_passes_as_the_pipeline(
    mod: IRModule,
    pipeline: Pass,
    level: int,
    required: list[str],
    disabled: list[str],
    declined: list[str],
) -> None:
    plain, traced = _Observer(declined), _Observer(declined)
    with PassContext(level, required, disabled, [plain]):
        wanted = pipeline(mod)
    with PassContext(level, required, disabled, [traced]):
        trace = byoc_lab.trace(mod, pipeline)
    assert structural_equal(trace.result, wanted)
    assert traced.passes == plain.passes
    assert traced.contexts == 1
    before = mod
    for stage in trace:
        assert stage.before is before
        assert stage.after is not None
        before = stage.after


def test_passes_required_by_a_sequence_s_members_run_and_are_stages() -> None:
    @module_pass(opt_level=0, required=["SimplifyInference", "InferType"])
    def last(mod: IRModule, ctx: PassContext) -> IRModule:
        return mod

    trace = byoc_lab.trace(_module(), [last])
    assert [s.name for s in trace] == ["SimplifyInference", "last"]  # typed modules stay typed
    assert structural_equal(trace.result, SimplifyInference()(_module()))


def test_nested_sequence_that_is_above_the_level_or_disabled_is_skipped() -> None:
    inner = Sequential([FoldConstant()], opt_level=4, name="inner")
    (stage,) = byoc_lab.trace(_module(), [inner])
    assert (stage.name, stage.skipped) == (
        "inner",
        "it needs opt_level 4, the context has 2",
    )
    inner = Sequential([FoldConstant()], name="inner")
    with PassContext(3, disabled_pass=["inner"]):
        (stage,) = byoc_lab.trace(_module(), [inner])
    assert (stage.name, stage.skipped) == ("inner", "it is disabled")


def test_instruments_stay_active_with_a_given_level() -> None:
    hears = _Observer(declined=["FoldConstant"])
    with PassContext(1, instruments=[hears]):
        trace = byoc_lab.trace(
            InferType()(_module()), [FoldConstant(), FoldScaleAxis()], opt_level=4
        )
    assert trace["FoldConstant"].skipped == "an instrument declined it"
    assert "BackwardFoldScaleAxis" in hears.passes
    assert hears.contexts == 1


def test_sequence_inside_a_pass_is_part_of_its_stage() -> None:
    @module_pass(opt_level=0)
    def several(mod: IRModule, ctx: PassContext) -> IRModule:
        return Sequential([InferType(), SimplifyInference()])(mod)

    trace = byoc_lab.trace(_module(), [several])
    assert [s.name for s in trace] == ["several"]
    assert [e.rule for e in trace[0].events] == ["batch_norm"]


def test_change_by_a_sequence_itself_is_a_stage() -> None:
    class Twice(Sequential):
        def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
            return SimplifyInference()(super().run(mod, ctx)).copy()

    mod = InferType()(_module())
    trace = byoc_lab.trace(mod, Twice([FoldConstant()], name="Twice"))
    assert [s.name for s in trace] == ["FoldConstant", "SimplifyInference", "Twice"]
    assert structural_equal(trace.result, SimplifyInference()(mod))


def test_instrument_that_raises_ends_the_trace() -> None:
    class Stops(PassInstrument):
        def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
            if info.name == "FoldConstant":
                raise ZeroDivisionError("an instrument's")

    with PassContext(3, instruments=[Stops()]):
        trace = byoc_lab.trace(InferType()(_module()), [InferType(), FoldConstant(), InferType()])
    assert [s.name for s in trace] == ["InferType", "FoldConstant"]
    assert isinstance(trace.error, ZeroDivisionError)


def test_era_is_applied_to_a_named_pipeline_or_refused() -> None:
    mod = _module(
        NEVER_CLOSED.replace('%0 = annotation.compiler_begin(%x, compiler="A");', "").replace(
            "%0", "%x"
        )
    )
    pipeline = ["InferType", relay.transform.AnnotateTarget("dnnl"), "PartitionGraph"]
    today, then = byoc_lab.trace(mod, pipeline), byoc_lab.trace(mod, pipeline, era="2020-01")
    assert len(today.result.functions) == 2
    assert len(then.result.functions) == 1  # closures remain in @main
    assert len(byoc_lab.trace(mod, "dnnl", "2020-01").result.functions) == 1
    with pytest.raises(PassError, match="'partition_for_dnnl' has no variant for an era"):
        byoc_lab.trace(mod, "partition_for_dnnl", "2020-01")


def test_function_can_be_the_pipeline() -> None:
    def own(mod: IRModule) -> IRModule:
        return partition(mod, "dnnl")

    found = byoc_lab.trace(_module(), own)
    inside = [stage.name for stage in byoc_lab.trace(_module(), "dnnl")]
    assert [stage.name for stage in found] == inside
    regions = {gv.name_hint for gv in found.result.functions} - {"main"}
    assert regions and byoc_lab.coverage(_module(), "dnnl", own).totals.regions == len(regions)
    searched = byoc_lab.bisect(_module(), own)
    assert searched.stage is None and searched.stages == sum(stage.changed for stage in found)


# Unknown names and arguments


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("dnll", "no pipeline is named 'dnll'; did you mean 'dnnl'?"),
        (["PartitonGraph"], "no pass is named 'PartitonGraph'; did you mean 'PartitionGraph'?"),
        (["foldconstant"], "did you mean 'FoldConstant'"),
        (["AnnotateTarget"], "needs targets; give the pass itself, AnnotateTarget(targets)"),
        ([FoldConstant], r"found the class FoldConstant; write FoldConstant(...)"),
        (None, "a pipeline is a name, a pass, a function from module to module, or a list"),
    ],
)
def test_misspelt_pipeline_error_suggests_the_nearest_name(pipeline: object, message: str) -> None:
    with pytest.raises(ByocLabError) as caught:
        byoc_lab.trace(_module(), pipeline)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert len(str(caught.value)) < 200


def test_misspelt_stage_error_suggests_the_nearest_name() -> None:
    trace = byoc_lab.trace(_module(), [InferType(), FoldConstant()])
    with pytest.raises(UnknownNameError, match="did you mean 'FoldConstant'"):
        trace["FoldConstants"]
    with pytest.raises(IndexError, match="the trace has 2 stages, numbered from 0; found 7"):
        trace[7]


def test_events_are_printed_one_per_line_up_to_a_limit() -> None:
    x = relay.var("x", shape=(2,))
    for n in range(40):
        x = relay.add(x, relay.sqrt(relay.const([float(n), 1.0])))
    events = byoc_lab.trace(IRModule.from_expr(x), ["FoldConstant"])["FoldConstant"].events
    assert len(events) == 40
    lines = repr(events).splitlines()
    assert len(lines) == 13
    assert lines[0].startswith("@main: evaluate: sqrt(...) -> constant Tensor[(2), float32]")
    assert lines[-1] == "... 28 more"
    assert str(events[:2]).splitlines() == lines[:2]
    assert repr(events[0]) == lines[0]
    assert str(events[:0]) == "no events"
