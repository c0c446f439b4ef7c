"""Lint rule BYL038 failing-function."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab import backends, fix, lint, relay
from byoc_lab.lab.linting.rules.failing_function import FailingFunction
from byoc_lab.passes import AnnotateTarget, InferType, MergeComposite, PartitionGraph
from byoc_lab.passes.framework.decorators import module_pass
from byoc_lab.relay import IRModule
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.explaining.pieces import NPU, entry, x
from tests.lab.linting.samples import RuleChecks

NET = IRModule.from_expr(relay.nn.relu(relay.tanh(x())))
RELU = entry("relu", is_op("nn.relu")(wildcard()))


class TestFailingFunction(RuleChecks):
    rule = FailingFunction


def before_it_partitions(mod: IRModule) -> IRModule:
    raise KeyError("weight")


def after_it_partitions(mod: IRModule) -> IRModule:
    mod = PartitionGraph()(AnnotateTarget(NPU)(MergeComposite([RELU])(mod)))
    mod["none"]
    return mod


def of_no_module(mod: IRModule) -> Any:
    return None


@module_pass(opt_level=0, name="Prepare")
def prepare(mod: IRModule, ctx: object) -> IRModule:
    raise ValueError("no such layout")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (before_it_partitions, "before_it_partitions raises KeyError for this module: 'weight'"),
        (after_it_partitions, "after_it_partitions raises UnknownNameError for this module: the "),
        (of_no_module, "of_no_module raises PassError for this module: of_no_module must return"),
        (prepare, "Prepare raises ValueError for this module: no such layout"),
    ],
)
@pytest.mark.parametrize("later", [0, 1])
@pytest.mark.parametrize("earlier", [0, 1])
def test_exception_of_a_function_among_the_passes_is_reported(
    function: Any, said: str, earlier: int, later: int
) -> None:
    backends.register(NPU, supports=["nn.relu"])
    pipeline = [*[InferType()] * earlier, function, *[MergeComposite([RELU])] * later]
    pipeline += [AnnotateTarget(NPU), PartitionGraph()] * later
    for given in (pipeline, function) if len(pipeline) == 1 else (pipeline,):
        (finding,) = lint(NET, given).by_code("BYL038")
        assert finding.message.startswith(said)
    assert "BYL038" in str(fix(NET, pipeline=pipeline))
    backends.register(NPU)


def test_functions_before_the_failing_one_are_followed() -> None:
    def merges(mod: IRModule) -> IRModule:
        return MergeComposite([(f"{NPU}_relu", *RELU[1:])])(mod)

    codes = {f.code for f in lint(NET, [merges, AnnotateTarget(NPU), before_it_partitions])}
    assert {"BYL038", "BYL018"} <= codes


def test_exception_of_another_pass_is_not_reported() -> None:
    def unchanged(mod: IRModule) -> IRModule:
        return mod

    def refuse(root: object) -> bool:
        raise ValueError("odd")

    table = [(*RELU, refuse)]
    found = lint(NET, [unchanged, InferType(), MergeComposite(table), AnnotateTarget(NPU)])
    assert not found.by_code("BYL038") and found.by_code("BYL036")
