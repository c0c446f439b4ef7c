"""Pipelines that contain a user's function, as TVM's `partition_for_...` are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from byoc_lab import backends, coverage, fix, lint, relay, transform
from byoc_lab.errors import PassError
from byoc_lab.lab.explaining import explain
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.patterns import is_constant, is_op, wildcard
from tests.lab.explaining.pieces import CONV, NPU, Any_, conv, entry, the

PARAMS = {"w": np.ones((8, 8, 1, 1), "float32"), "b": np.ones(8, "float32")}


@pytest.fixture(autouse=True)
def back_end() -> Iterator[None]:
    yield
    backends.register(NPU)  # replaces the registration: no patterns


def in_context(passes: Sequence[Pass], level: int) -> Any:
    def partition(mod: IRModule) -> IRModule:
        with transform.PassContext(opt_level=level):
            return transform.Sequential(passes)(mod)

    return partition


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("alone", [True, False])
def test_table_that_a_user_s_function_applies_is_used(level: int, alone: bool) -> None:
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
    assert outside.cause == "sub-pattern"  # in any surrounding context


def with_parameters() -> IRModule:
    """Two convolutions; the first has a bias."""
    x, w, b = (
        relay.var(n, shape=s) for n, s in (("x", (1, 8, 4, 4)), ("w", (8, 8, 1, 1)), ("b", (8,)))
    )
    biased = nn.relu(nn.bias_add(nn.conv2d(x, w, kernel_size=(1, 1), channels=8), b))
    last = nn.relu(nn.conv2d(biased, w, kernel_size=(1, 1), channels=8))
    return transform.InferType()(IRModule.from_expr(relay.Function([x, w, b], last)))


def partition_for_npu(mod: IRModule) -> IRModule:
    """Binds the parameters in the given module, as TVM's functions do."""
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
def test_operations_of_a_function_before_its_passes_are_applied(pipeline: Any, level: int) -> None:
    conv2d = is_op("nn.conv2d")(wildcard(), is_constant())
    biased = is_op("nn.bias_add")(conv2d, is_constant())
    backends.register(NPU, patterns=[entry("biased", is_op("nn.relu")(biased))])
    mod = with_parameters()
    with transform.PassContext(opt_level=level):
        found = explain(mod, NPU, pipeline=pipeline)
        assert "3 of 5 calls offloaded" in found.summary
        assert "3 of 5 operators" in str(coverage(mod, NPU, pipeline=pipeline))
    if level >= 2 or pipeline not in PIPELINES[3:]:  # at a lower level FoldConstant is skipped
        assert the(found, "nn.conv2d").expected == "nn.bias_add"


def in_nhwc() -> IRModule:
    x, w = relay.var("x", shape=(1, 8, 8, 4)), relay.const(np.ones((3, 3, 4, 4), "float32"))
    body = nn.conv2d(x, w, (1, 1), kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO")
    return transform.InferType()(IRModule.from_expr(relay.Function([x], nn.relu(body))))


TO_NCHW = transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]})


def matched(mod: IRModule, *, level: int = 3) -> IRModule:
    """Marks the module between its passes, as functions that bind parameters change it."""
    merge = transform.MergeComposite(backends.get(NPU).patterns())
    with transform.PassContext(opt_level=level):
        mod = transform.Sequential([transform.InferType(), merge])(mod)
    mod["main"] = mod["main"].with_attr("marked", 1)
    return transform.PartitionGraph()(transform.AnnotateTarget(NPU)(mod))


def converted(level: int, *, called: bool = False) -> Any:
    def function(mod: IRModule) -> IRModule:
        with transform.PassContext(opt_level=level):
            mod = TO_NCHW(mod) if called else transform.Sequential([TO_NCHW])(mod)
        mod["main"] = mod["main"].with_attr("converted", 1)
        return matched(mod)

    return function


def asking(mod: IRModule) -> IRModule:
    """Reads the type of each call before it converts the module."""
    for call in (mod["main"].body, mod["main"].body.args[0]):
        transform.InferType()(IRModule.from_expr(call))
    return converted(1)(mod)


def inner(function: Any) -> Any:
    inside = transform.module_pass(lambda mod, ctx: function(mod), opt_level=0, name="inside")
    return lambda mod: transform.Sequential([transform.InferType(), inside])(mod)


@pytest.fixture
def in_nchw() -> None:
    """A back end that takes only convolutions in NCHW."""
    conv2d = is_op("nn.conv2d")(wildcard(), wildcard()).has_attr({"data_layout": "NCHW"})
    backends.register(NPU, patterns=[entry("it", is_op("nn.relu")(conv2d))])


NOT_CONVERTED: list[tuple[Any, int]] = [
    ([TO_NCHW, matched], 2),  # the function runs at level 3, which does not help
    (converted(1), 1),
    ([converted(1)], 1),
    ([transform.InferType(), converted(0)], 0),
    (asking, 1),
    (inner(converted(1)), 1),
]


@pytest.mark.usefixtures("in_nchw")
@pytest.mark.parametrize(("pipeline", "level"), NOT_CONVERTED)
def test_pass_skipped_by_the_context_of_a_function_is_the_cause(pipeline: Any, level: int) -> None:
    found = the(explain(in_nhwc(), NPU, pipeline=pipeline), "nn.conv2d")
    assert found.cause == "skipped-pass"
    skipped = f"the PassContext has opt_level {level} and skips ConvertLayout, which needs 3"
    assert found.reason.startswith(skipped)
    assert str(found.change) == "run under PassContext(opt_level=3)"
    changes = coverage(in_nhwc(), NPU, pipeline=pipeline).changes
    (helped,) = [c for c in changes if c.what == "PassContext(opt_level=3)"]
    assert helped.totals is not None and helped.totals.regions == 1


@pytest.mark.usefixtures("in_nchw")
@pytest.mark.parametrize(("pipeline", "level"), NOT_CONVERTED)
def test_lint_reads_the_contexts_of_a_function(pipeline: Any, level: int) -> None:
    (found,) = lint(in_nhwc(), pipeline)
    assert found.code == "BYL016"
    assert f"ConvertLayout needs opt_level 3, the context has {level}:" in found.message
    assert str(fix(in_nhwc(), pipeline=pipeline)).startswith("nothing was fixed: no repair")


@pytest.mark.parametrize("at_level", [2, 3])
def test_lint_reads_the_table_of_a_function(at_level: int) -> None:
    shadowing = [entry("alone", CONV), entry("pair", is_op("nn.relu")(CONV))]
    backends.register(NPU, patterns=shadowing)
    mod = IRModule.from_expr(nn.relu(conv()))
    passes = [
        transform.InferType(), transform.MergeComposite(shadowing), transform.AnnotateTarget(NPU),
        transform.PartitionGraph(),
    ]  # fmt: skip
    wanted = [(f.code, f.message) for f in lint(mod, passes)]
    assert wanted
    for pipeline in (in_context(passes, at_level), matched, [matched]):
        assert [(f.code, f.message) for f in lint(mod, pipeline)] == wanted


@pytest.mark.usefixtures("in_nchw")
@pytest.mark.parametrize("level", [0, 3])
def test_pass_that_a_function_calls_directly_runs_at_any_level(level: int) -> None:
    with transform.PassContext(opt_level=level):
        found = explain(in_nhwc(), NPU, pipeline=[converted(0, called=True)])
    assert "2 of 2 calls offloaded" in found.summary


@pytest.mark.usefixtures("in_nchw")
@pytest.mark.parametrize("level", [0, 3])
def test_pass_suggested_for_a_function_runs_in_its_context(level: int) -> None:
    with transform.PassContext(opt_level=level):
        found = the(explain(in_nhwc(), NPU, pipeline=matched), "nn.conv2d")
    assert str(found.change).startswith("run ConvertLayout(")
    # at the function's level 3, for any `level`
    assert str(found.change).endswith("before MergeComposite")


@pytest.mark.usefixtures("in_nchw")
def test_two_contexts_that_skip_passes_are_both_named() -> None:
    pipeline = [transform.ToMixedPrecision(), transform.FoldScaleAxis(), converted(1)]
    found = the(explain(in_nhwc(), NPU, pipeline=pipeline), "nn.conv2d")
    assert "the PassContexts have opt_level 1 and 2 and skip" in found.reason


def test_function_that_fails_is_named() -> None:
    def fails(mod: IRModule) -> IRModule:
        matched(mod)
        raise ValueError("of the function")

    for ask in (explain, coverage):
        with pytest.raises(PassError, match="fails raised ValueError on this module"):
            ask(with_parameters(), NPU, pipeline=fails)
