"""Replaying the events of a pass gives its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

import byoc_lab
from byoc_lab import relay
from byoc_lab.compat import tvm
from byoc_lab.compat.passes import (
    DeadCodeElimination,
    DefuseOps,
    InlineCompilerFunctionsBoundTo,
    MarkCompilerFunctionsAsExtern,
)
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.tracing.stages import Stage
from byoc_lab.lessons import mobilenet
from byoc_lab.lessons.cases import nested_partition
from byoc_lab.passes import Pass
from byoc_lab.relay import Function, IRModule, assert_structural_equal
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import (
    AnnotateTarget,
    MergeComposite,
    PartitionGraph,
    RemoveUnusedFunctions,
    SimplifyExprPostAlterOp,
    ToANormalForm,
    ToGraphNormalForm,
)
from tests import strategies
from tests.parity import cases
from tests.parity.goldens.plan import plan
from tests.passes.framework.test_properties import PIPELINES, _table
from tests.strategies import TARGET
from tests.sweeps import ONE_IN, some

MORE: dict[str, list[Pass]] = {
    "normal forms": [ToANormalForm(), "InferType", ToGraphNormalForm()],  # type: ignore[list-item]
    "dead code": [DeadCodeElimination(inline_once=True)],
    "defuse": [*PIPELINES["MergeComposite"], DefuseOps()],
    "compat": [AnnotateTarget(TARGET, era="0.16")],
    "extern": [*PIPELINES["Partition"], MarkCompilerFunctionsAsExtern()],
    "undone": [
        MergeComposite(_table()),
        *PIPELINES["Partition"],
        InlineCompilerFunctionsBoundTo([f"tvmgen_default_{TARGET}_main_{n}" for n in (0, 1)]),
    ],
    "unused": [*PIPELINES["Partition"], RemoveUnusedFunctions(["none"])],
}
ALL = {**PIPELINES, **MORE}


def _check(trace: Trace) -> None:
    if trace.error is not None:
        raise trace.error
    for stage in trace:
        _check_stage(stage)


def _check_stage(stage: Stage) -> None:
    assert stage.after is not None
    again = stage.state_after(len(stage.events))
    assert_structural_equal(again, stage.after)
    assert_same_types(again, stage.after)
    assert bool(stage.events) or not stage.changed or stage.name == "InferType"


def assert_same_types(mod: IRModule, wanted: IRModule) -> None:
    """Nodes of functions that have types in `wanted` have the same types in `mod`."""
    for gv, function in wanted.functions.items():
        if not function.is_typed:  # some passes leave a function without types, as in TVM
            continue
        for a, b in zip(post_order(mod[gv.name_hint]), post_order(function), strict=True):
            assert a.is_typed == b.is_typed
            if b.is_typed:
                assert a.checked_type == b.checked_type
            if isinstance(a, Function) and isinstance(b, Function):
                assert a.ret_type == b.ret_type


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=some(20))
@given(mod=strategies.modules())
def test_replaying_all_events_gives_the_result(name: str, mod: IRModule) -> None:
    _check(byoc_lab.trace(mod, ALL[name], opt_level=4))


# Every fourth module of the corpus in `make test`, the others in the slow tests.
CORPUS = [
    pytest.param(case, marks=[] if n % 4 == 0 else [pytest.mark.slow])
    for n, case in enumerate(sorted({entry.case for entry in plan()}))
]


@pytest.mark.parametrize("case", CORPUS)
def test_dnnl_pipeline_on_the_corpus_can_be_replayed(case: str) -> None:
    """Up to the pass that refuses a module: some are malformed on purpose."""
    trace = byoc_lab.trace(cases.load(case, tvm, relay, np), "dnnl")
    for stage in trace:
        if stage.after is not None:
            _check_stage(stage)


@settings(max_examples=some(20))
@given(mod=strategies.modules())
def test_dnnl_pipeline_on_random_modules_can_be_replayed(mod: IRModule) -> None:
    _check(byoc_lab.trace(mod, "dnnl"))


def test_composite_functions_are_replayed_with_their_result_types() -> None:
    mod = infer_module(mobilenet.module(image_size=32, classes=10))
    (stage,) = byoc_lab.trace(mod, [MergeComposite(byoc_lab.dnnl.pattern_table())])
    for count in (1, len(stage.events) // 2, len(stage.events)):
        state = stage.state_after(count)
        made = [n for n in post_order(state["main"]) if isinstance(n, Function)][:-1]
        assert len(made) == count
        assert all(composite.ret_type is not None for composite in made)


def test_dnnl_pipeline_on_mobilenet_can_be_replayed() -> None:
    _check(byoc_lab.trace(mobilenet.module(image_size=32, classes=10), "dnnl"))


@pytest.mark.parametrize("name", ["casts", "clips", "identities", "reshapes"])
def test_simplifying_after_alter_op_layout_can_be_replayed(name: str) -> None:
    mod = infer_module(cases.load(f"simplifying/{name}", byoc_lab, byoc_lab.relay, np))
    trace = byoc_lab.trace(mod, [SimplifyExprPostAlterOp()])
    _check(trace)
    assert trace[0].events


def test_canonicalize_ops_can_be_replayed() -> None:
    mod, _ = byoc_lab.relay.testing.mlp.get_workload(1)
    trace = byoc_lab.trace(mod, ["InferType", "CanonicalizeOps", "SimplifyExpr"], opt_level=3)
    _check(trace)
    assert len(trace["CanonicalizeOps"].events) == 3  # three layers with a bias each


def test_nested_partition_can_be_replayed() -> None:
    wrong = nested_partition.annotate(nested_partition.network(3), begins_on_conv_data=False)
    trace = byoc_lab.trace(wrong, PartitionGraph(era="2020-01"))
    _check(trace)
    assert [e.reason for e in trace[0].events] == [
        "subgraph 2 becomes a closure",
        "subgraph 1 becomes a closure",
        "subgraph 0 becomes a closure",
    ]


# Values


def _check_values(
    stage: Stage, inputs: Mapping[str, np.ndarray], rtol: float = 1e-9, every: int = 1
) -> None:
    """Every n-th state of a stage, and its last, compute the results of its input."""
    wanted = evaluate(stage.before, inputs, dtype="float64").value
    last = len(stage.events)
    for count in sorted({*range(every, last, every), last} - {0}):
        found = evaluate(stage.state_after(count), inputs, dtype="float64").value
        for a, b in zip(_arrays(found), _arrays(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=str(count))


def _arrays(value: object) -> Iterator[np.ndarray]:
    if isinstance(value, tuple):
        for field in value:
            yield from _arrays(field)
    else:
        yield np.asarray(value)


@pytest.mark.parametrize("name", PIPELINES)
@settings(max_examples=some(4))
@given(mod=strategies.modules())
def test_every_state_computes_the_same_numbers(name: str, mod: IRModule) -> None:
    for stage in byoc_lab.trace(mod, PIPELINES[name], opt_level=4):
        _check_values(stage, strategies.inputs())


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=some(20))
@given(mod=strategies.modules())
def test_every_state_of_many_modules_computes_the_same_numbers(name: str, mod: IRModule) -> None:
    for stage in byoc_lab.trace(mod, ALL[name], opt_level=4):
        if "main" in stage.before and stage.name not in ("RemoveUnusedFunctions",):
            _check_values(stage, strategies.inputs())


SCALED = """
def @main(%x: Tensor[(1, 4, 8, 8), float32], %y: Tensor[(1, 4, 8, 8), float32]) {
  %0 = nn.conv2d(%x, meta[relay.Constant][0], kernel_size=[1, 1], channels=4);
  %1 = add(%0, nn.conv2d(%y, meta[relay.Constant][1], kernel_size=[1, 1], channels=4));
  %2 = multiply(nn.relu(%1), meta[relay.Constant][2]);
  %3 = multiply(%2, meta[relay.Constant][2]);
  %4 = add(%3, meta[relay.Constant][2]);
  %5 = nn.conv2d(%4, meta[relay.Constant][0], kernel_size=[1, 1], channels=4);
  (%5, nn.conv2d(%4, meta[relay.Constant][1], kernel_size=[1, 1], channels=4))
}
"""


def _scaled() -> tuple[IRModule, dict[str, np.ndarray]]:
    """Scales before and after convolutions, through relu and add, with two consumers."""
    random = np.random.RandomState(3)
    weights = [random.normal(size=(4, 4, 1, 1)).astype("float32") for _ in range(2)]
    scale = random.uniform(0.5, 2, (4, 1, 1)).astype("float32")
    meta = {"relay.Constant": [relay.const(v) for v in (*weights, scale)]}
    mod = relay.parse(f'#[version = "0.0.5"]\n{SCALED}', init_meta_table=meta)
    inputs = {n: random.normal(size=(1, 4, 8, 8)).astype("float32") for n in ("x", "y")}
    return infer_module(mod), inputs


@pytest.mark.parametrize("name", ["BackwardFoldScaleAxis", "ForwardFoldScaleAxis"])
def test_moved_scale_is_one_event(name: str) -> None:
    mod, inputs = _scaled()
    (stage,) = byoc_lab.trace(mod, [name], opt_level=3)
    assert [e.rule for e in stage.events] == ["fold scale"] * len(stage.events)
    assert stage.events and all("the scale (4, 1, 1)[" in e.reason for e in stage.events)
    _check_stage(stage)
    _check_values(stage, inputs)


def _small_mobilenet() -> tuple[IRModule, dict[str, np.ndarray]]:
    mod = infer_module(mobilenet.module(image_size=32, classes=10))
    data = np.random.RandomState(0).normal(size=(1, 3, 32, 32)).astype("float32")
    return mod, {mod["main"].params[0].name_hint: data}


@pytest.mark.slow
def test_every_state_of_the_dnnl_pipeline_on_mobilenet_computes_the_same_numbers() -> None:
    mod, inputs = _small_mobilenet()
    for stage in byoc_lab.trace(mod, "dnnl"):
        # FoldConstant computes in float32.
        _check_values(stage, inputs, rtol=1e-5, every=ONE_IN)


@settings(max_examples=some(20))
@given(mod=strategies.modules())
def test_intermediate_states_can_be_shown(mod: IRModule) -> None:
    """Every state can be printed and compared with its neighbours."""
    for stage in byoc_lab.trace(mod, PIPELINES["all"]):
        states = [stage.state_after(n) for n in range(len(stage.events) + 1)]
        for before, after in pairwise(states):
            assert str(byoc_lab.diff(before, after))
