"""Properties of every pass: types, values and the input stay, and a second run changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from byoc_lab import relay
from byoc_lab.compat.passes import (
    EliminateCommonSubexpr,
    FuseOps,
    Inline,
    OutlineCompilerFunctionsWithExistingGlobalSymbols,
)
from byoc_lab.passes import Pass, PassContext, Sequential
from byoc_lab.relay import IRModule, structural_equal
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import (
    AnnotateTarget,
    BackwardFoldScaleAxis,
    FoldConstant,
    ForwardFoldScaleAxis,
    InferType,
    MergeCompilerRegions,
    MergeComposite,
    PartitionGraph,
    SimplifyExpr,
    SimplifyInference,
    ToBasicBlockNormalForm,
)
from tests import strategies
from tests.strategies import TARGET
from tests.sweeps import some


def _table() -> list[tuple]:
    dp = relay.dataflow_pattern
    return [(f"{TARGET}.abs_add", dp.is_op("abs")(dp.is_op("add")(dp.wildcard(), dp.wildcard())))]


PIPELINES: dict[str, list[Pass]] = {
    "InferType": [InferType()],
    "SimplifyInference": [SimplifyInference()],
    "FoldConstant": [FoldConstant()],
    "BackwardFoldScaleAxis": [BackwardFoldScaleAxis()],
    "ForwardFoldScaleAxis": [ForwardFoldScaleAxis()],
    "MergeComposite": [MergeComposite(_table())],
    "AnnotateTarget": [AnnotateTarget(TARGET)],
    "calls only": [AnnotateTarget(TARGET, include_non_call_ops=False)],
    "Merge": [AnnotateTarget(TARGET), MergeCompilerRegions()],
    "Partition": [AnnotateTarget(TARGET), PartitionGraph()],
    "FuseOps": [FuseOps(2)],
    "EliminateCommonSubexpr": [EliminateCommonSubexpr()],
    "SimplifyExpr": [SimplifyExpr()],
    "ToBasicBlockNormalForm": [ToBasicBlockNormalForm(), InferType()],
    "Inline": [AnnotateTarget(TARGET), PartitionGraph(), Inline()],
    "Outline": [
        AnnotateTarget(TARGET),
        PartitionGraph(),
        Inline(),
        OutlineCompilerFunctionsWithExistingGlobalSymbols(TARGET),
    ],
    "all": [
        FoldConstant(),
        MergeComposite(_table()),
        AnnotateTarget(TARGET),
        MergeCompilerRegions(),
        PartitionGraph(),
    ],
}


def _value(mod: IRModule) -> np.ndarray:
    return evaluate(mod, strategies.inputs(), dtype="float64").value


@pytest.mark.parametrize("name", PIPELINES)
@settings(max_examples=some(25))
@given(mod=strategies.modules())
def test_values_types_and_input_stay(name: str, mod: IRModule) -> None:
    before, functions = _value(mod), dict(mod.functions)
    with PassContext(opt_level=3):
        after = Sequential(PIPELINES[name])(mod)
    assert mod.functions == functions
    np.testing.assert_allclose(_value(after), before, rtol=1e-12, atol=1e-12)
    for func in after.functions.values():
        assert all(n.is_typed for n in post_order(func) if not isinstance(n, _UNTYPED))


_UNTYPED = (relay.Op, relay.GlobalVar)


@pytest.mark.parametrize("name", ["InferType", "SimplifyInference", "FoldConstant", "Merge"])
@settings(max_examples=some(25))
@given(mod=strategies.modules())
def test_second_run_changes_nothing(name: str, mod: IRModule) -> None:
    *earlier, last = PIPELINES[name]
    once = last(Sequential(earlier)(mod))
    assert structural_equal(last(once), once)


@settings(max_examples=some(40))
@given(mod=strategies.modules())
def test_partitioning_removes_every_annotation(mod: IRModule) -> None:
    out = PartitionGraph()(MergeCompilerRegions()(AnnotateTarget(TARGET)(mod)))
    assert not any(
        relay.analysis.annotations.is_annotation(n)
        for f in out.functions.values()
        for n in post_order(f)
    )
    for func in out.functions.values():
        assert not relay.analysis.free_vars(func)


@settings(max_examples=some(40))
@given(mod=strategies.modules())
def test_printed_and_parsed_result_is_equal(mod: IRModule) -> None:
    """With constants in the metadata, bit for bit."""
    again = relay.parse(mod.astext())
    relay.assert_structural_equal(again, mod)
