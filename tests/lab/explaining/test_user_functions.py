"""Pipelines that have a function of the user, as the `partition_for_...` of TVM are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from byoc_lab import backends, coverage, relay, trace, transform
from byoc_lab.lab.explaining import Explanation, Explanations, explain
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.patterns import is_constant, is_op, wildcard
from tests.lab.explaining.planted import CONV, NPU, Any_, conv, entry

PARAMS = {"w": np.ones((8, 8, 1, 1), "float32"), "b": np.ones(8, "float32")}


@pytest.fixture(autouse=True)
def back_end() -> Iterator[None]:
    yield
    backends.register(NPU)  # takes nothing any more


def the(found: Explanations, operator: str) -> Explanation:
    return [e for e in found if e.name == operator][-1]


def in_context(passes: Sequence[Pass], level: int) -> Any:
    def partition(mod: IRModule) -> IRModule:
        with transform.PassContext(opt_level=level):
            return transform.Sequential(passes)(mod)

    return partition


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("alone", [True, False])
def test_the_table_that_a_function_of_the_user_matches_is_asked(level: int, alone: bool) -> None:
    table = [entry("biased", is_op("nn.relu")(is_op("nn.bias_add")(CONV, Any_())))]
    backends.register(NPU, patterns=table)
    steps = [
        transform.MergeComposite(table),
        transform.AnnotateTarget(NPU),
        transform.PartitionGraph(),
    ]
    function = in_context(steps, level)
    mod = IRModule.from_expr(nn.relu(conv()))
    with transform.PassContext(opt_level=level):
        pipeline = function if alone else ["InferType", function]
        found = the(explain(mod, NPU, pipeline=pipeline), "nn.conv2d")
    assert found.cause == "sub-pattern" and found.expected == "nn.bias_add"
    outside = the(explain(mod, NPU, pipeline=function), "nn.conv2d")
    assert outside.cause == "sub-pattern"  # whatever the context around it is


def with_parameters() -> IRModule:
    """Two convolutions, of which the first has a bias."""
    x, w, b = (
        relay.var(n, shape=s) for n, s in (("x", (1, 8, 4, 4)), ("w", (8, 8, 1, 1)), ("b", (8,)))
    )
    biased = nn.relu(nn.bias_add(nn.conv2d(x, w, kernel_size=(1, 1), channels=8), b))
    last = nn.relu(nn.conv2d(biased, w, kernel_size=(1, 1), channels=8))
    return transform.InferType()(IRModule.from_expr(relay.Function([x, w, b], last)))


def partition_for_npu(mod: IRModule) -> IRModule:
    """Binds the parameters in the module that it gets, as TVM's functions do."""
    mod["main"] = bind_params_by_name(mod["main"], PARAMS)
    table = backends.get(NPU).patterns()
    passes = [
        transform.InferType(), transform.FoldConstant(), transform.MergeComposite(table),
        transform.AnnotateTarget(NPU), transform.PartitionGraph(),
    ]  # fmt: skip
    with transform.PassContext(opt_level=3):
        return transform.Sequential(passes)(mod)


PIPELINES: Any = [
    partition_for_npu,
    [partition_for_npu],
    [transform.InferType(), partition_for_npu],
    [transform.FoldConstant(), partition_for_npu],
]


@pytest.mark.parametrize("level", [0, 2, 3])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_what_a_function_does_before_its_passes_is_followed(pipeline: Any, level: int) -> None:
    conv2d = is_op("nn.conv2d")(wildcard(), is_constant())
    biased = is_op("nn.bias_add")(conv2d, is_constant())
    backends.register(NPU, patterns=[entry("biased", is_op("nn.relu")(biased))])
    mod = with_parameters()
    with transform.PassContext(opt_level=level):
        found = explain(mod, NPU, pipeline=pipeline)
        assert "3 of 5 calls offloaded" in found.summary
        assert "3 of 5 operators" in str(coverage(mod, NPU, pipeline=pipeline))
    if level >= 2 or pipeline not in PIPELINES[3:]:  # else FoldConstant is skipped before it
        assert the(found, "nn.conv2d").expected == "nn.bias_add"


def test_a_function_that_changes_its_module_leaves_the_traced_one() -> None:
    backends.register(NPU, patterns=[entry("relu", is_op("nn.relu")(wildcard()))])
    mod = with_parameters()
    (stage,) = trace(mod, [partition_for_npu]).stages
    assert len(mod["main"].params) == len(stage.before["main"].params) == 3
    assert len(stage.after["main"].params) == 1
    assert not stage.is_reported  # the binding is no rewrite of a pass
    assert not trace(mod, [lambda given: given]).stages[0].changed
