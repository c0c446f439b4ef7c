"""`explain`: planted misses have their causes, and each suggested change is verified."""

from __future__ import annotations

import cProfile
import pstats
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pytest

from byoc_lab import backends, relay
from byoc_lab.errors import ArgumentError, UnknownNameError, UnknownNodeError
from byoc_lab.lab.checking.covering import coverage
from byoc_lab.lab.explaining import CAUSES, Explanation, explain
from byoc_lab.lab.tracing import trace
from byoc_lab.passes import (
    AnnotateTarget,
    FoldConstant,
    InferType,
    MergeComposite,
    PartitionGraph,
    PassContext,
    SimplifyInference,
)
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_constant, is_op, is_tuple_get_item, wildcard
from byoc_lab.run import reference
from tests.lab.explaining.pieces import NPU, OTHER, conv, entry, weight, x
from tests.lab.explaining.planted import ALL, Planted
from tests.plain_cells import plain


@pytest.fixture(autouse=True)
def back_ends() -> Iterator[None]:
    backends.register(OTHER, supports=["exp"])
    yield
    for name in (NPU, OTHER):
        backends.register(name)  # replaces the registration: no patterns


def explained(miss: Planted) -> Explanation:
    miss.register()
    options = dict(miss.options) or ({"opt_level": miss.level} if miss.level else {})
    with PassContext(**options) if options else nullcontext():
        found = explain(
            miss.module(), miss.target, miss.operator, miss.passes() if miss.passes else None
        )
        assert found, f"no call of {miss.operator}"
        str(found[0])  # the back end computes the whole module with this context
    return found[0]


@pytest.mark.parametrize("miss", ALL, ids=lambda m: m.name)
def test_planted_miss_has_its_cause_and_a_change_that_works(miss: Planted) -> None:
    found = explained(miss)
    check_cause(miss, found)
    check_change(miss, found)
    check_numbers(miss, found)


def check_cause(miss: Planted, found: Explanation) -> None:
    assert not found.offloaded and found.status == "host"
    assert found.cause == miss.cause, str(found)
    assert miss.expected in found.expected and miss.found in found.found, str(found)
    assert miss.nearest in str(found.nearest)
    assert found.reason and (found.path != ()) == (miss.cause == "merge")


def check_change(miss: Planted, found: Explanation) -> None:
    """The change offloads the call."""
    change = found.change
    if miss.change is None:
        assert change is None, str(change)
        return
    assert change is not None and miss.change in str(change), str(change)
    setup = change.setup
    with setup.context:
        again = trace(setup.mod, list(setup.passes)).result
        (told,) = explain(setup.mod, miss.target, change.call, list(setup.passes))
        assert told.status == ("offloaded" if change.region else "removed"), str(told)
        assert told.region == (change.region or None)
    inside = [
        n.op_name
        for gv, func in again.functions.items()
        if func.attrs.get("Compiler") == miss.target
        for n in post_order(func)
        if isinstance(n, Call)
    ]
    assert change.call.op_name == miss.operator
    if miss.operator.removeprefix("dyn.") not in inside:  # a pass replaced or removed the call
        assert miss.cause in ("needs-pass", "unbound-constant", "skipped-pass", "unused")
        assert inside or not change.region


def check_numbers(miss: Planted, found: Explanation) -> None:
    """A change that is described as equivalent keeps the numbers."""
    change = found.change
    before = miss.module()
    if change is None or not change.keeps_numbers:
        return
    after = change.setup.mod
    if len(after["main"].params) != len(before["main"].params):
        return  # parameters were bound
    generator = np.random.default_rng(0)
    inputs = {
        p.name_hint: generator.uniform(0.1, 1, p.checked_type.concrete_shape).astype(
            p.checked_type.dtype
        )
        for p in after["main"].params  # all dimension sizes are known here
    }
    results = [np_values(reference.evaluate(m, inputs).value) for m in (before, after)]
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def np_values(value: object) -> list[np.ndarray]:
    return [np.asarray(v) for v in value] if isinstance(value, tuple) else [np.asarray(value)]


def test_every_cause_has_a_planted_miss() -> None:
    assert {m.cause for m in ALL} == CAUSES.keys() - {"other-function", "unknown"}  # only in Relax
    assert len([m for m in ALL if m.table is None]) >= 15
    assert len([m for m in ALL if m.table is not None]) >= 15


def test_path_contains_calls_of_the_given_module() -> None:
    (miss,) = [m for m in ALL if m.cause == "merge"]
    mod = miss.module()
    passes = miss.passes() if miss.passes else None
    (found,) = explain(mod, "dnnl", miss.operator, passes)
    last = mod["main"].body
    assert found.path == (last.args[0], last.args[1], last)
    assert "path      nn.conv2d (%0) -> erf (%1) -> add (result of @main)" in str(found)


def test_calls_of_an_untyped_module_have_their_printed_names() -> None:
    data = relay.var("x", shape=(1, 4, 8, 8))
    first = conv(data)
    last = relay.sin(relay.tanh(first))
    mod = IRModule.from_expr(last)
    found = explain(mod, "dnnl")
    assert [e.call for e in found] == [first, last.args[0], last]
    assert [e.number for e in found] == ["%0", "%1", "result of @main"]
    assert "%1 = tanh(%0)" in str(mod)
    assert explain(mod, "dnnl", "%1")[0].call is last.args[0]
    assert found[last.args[0]].offloaded and not found[last].offloaded


def test_decomposed_call_is_explained_by_its_original_call() -> None:
    norm = nn.l2_normalize(x(1, 4, 8, 8), 1e-5, [1])
    (found,) = explain(IRModule.from_expr(nn.relu(norm)), "dnnl", "nn.l2_normalize")
    assert found.cause == "no-pattern"
    assert "SimplifyInference replaced nn.l2_normalize (%0) by other operators" in found.reason
    assert "sum (from nn.l2_normalize, %0)" in found.reason


def test_change_leaves_out_the_pass_that_decomposes_a_call_that_a_pattern_needs() -> None:
    """The table exists only in the pipeline; the target is not registered."""
    data, scale = x(1, 4, 8, 8), weight(4)
    norm = nn.batch_norm(nn.conv2d(data, weight(4, 4, 1, 1)), scale, scale, scale, scale)[0]
    pattern = is_op("nn.batch_norm")(*(wildcard() for _ in range(5)))
    table = [("unregistered.norm", is_op("nn.relu")(is_tuple_get_item(pattern, 0)))]
    partitioning = [MergeComposite(table), AnnotateTarget("unregistered"), PartitionGraph()]
    mod = IRModule.from_expr(nn.relu(norm))
    (found,) = explain(mod, "unregistered", "nn.batch_norm", [SimplifyInference(), *partitioning])
    assert "nn.batch_norm (%1), which unregistered.norm asks for, by other" in found.reason
    assert str(found.change) == "leave SimplifyInference out of the pipeline"
    (found,) = explain(mod, "unregistered", "nn.batch_norm", partitioning)
    assert found.offloaded
    assert coverage(mod, "unregistered", partitioning).totals.offloaded == 2
    for asked_of in (explain, coverage):
        with pytest.raises(UnknownNameError, match="no back end is registered as 'nowhere'"):
            asked_of(mod, "nowhere", pipeline=partitioning)


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize(
    ("axes", "excluded", "change"),
    [
        ([2, 3], False, "write mean (%0) as nn.global_avg_pool2d"),
        ([-2, 1], False, "write mean (%0) as nn.global_avg_pool2d"),
        ([0, 1], True, "write mean (%0) as nn.global_avg_pool2d"),
        ([1, 3], False, "None"),
        ([3], False, "None"),
    ],
)
def test_mean_over_both_image_axes_suggests_a_global_pooling(
    axes: list[int], excluded: bool, change: str, keeps: bool
) -> None:
    mean = relay.mean(x(2, 4, 5, 3), axis=axes, keepdims=keeps, exclude=excluded)
    mod = IRModule.from_expr(relay.tanh(mean))
    (found,) = explain(mod, "dnnl", "mean")
    assert str(found.change) == change
    if found.change is not None:
        values = np.random.default_rng(0).normal(size=(2, 4, 5, 3)).astype("float32")
        changed, given = (
            reference.evaluate(m, [values]).value for m in (found.change.setup.mod, mod)
        )
        np.testing.assert_allclose(changed, given, rtol=1e-6)


def test_layer_norm_that_the_pipeline_decomposes_suggests_to_leave_the_pass_out() -> None:
    (found,) = explain(IRModule.from_expr(nn.layer_norm(x(2, 4), weight(4), weight(4))), "dnnl")
    assert str(found.change) == "leave SimplifyInference out of the pipeline"


def test_equal_calls_are_one_group() -> None:
    value: relay.Expr = x()
    for _ in range(3):
        value = relay.sin(nn.relu(relay.erf(value)))
    found = explain(IRModule.from_expr(value), "dnnl")
    assert sorted(len(g) for g in found.groups) == [1, 2, 3]  # the erf of the input is a group
    text = str(found)
    assert "3 calls of sin not offloaded: no-pattern (%2, %5, result of @main)" in text
    assert text.count("\n  change") == 3
    data = found.as_dict()
    assert [g["numbers"] for g in data["groups"]] and len(data["calls"]) == 9
    for told, one in zip(data["calls"], found, strict=True):
        if one.offloaded:
            assert told["group"] is None
        else:
            assert told["number"] in data["groups"][told["group"]]["numbers"]
    assert "<td>3</td><td>sin (%2, %5" in plain(found._repr_html_())


def test_calls_that_need_the_same_change_share_its_run() -> None:
    """No single change is enough: weights must be bound and passes added."""
    pattern = is_op("nn.relu")(
        is_op("add")(is_op("nn.conv2d")(wildcard(), is_constant()), wildcard())
    )
    backends.register(NPU, patterns=[entry("conv_bias_relu", pattern)])
    kernel = relay.var("w", shape=(4, 4, 3, 3))
    first = nn.conv2d(x(), kernel, padding=(1, 1), channels=4, kernel_size=(3, 3))
    names = ("gamma", "beta", "mean", "var")
    norm = nn.batch_norm(first, *[relay.var(n, shape=(4,)) for n in names])[0]
    found = explain(IRModule.from_expr(nn.relu(norm)), NPU)
    assert [e.name for e in found.host] == ["nn.conv2d", "nn.batch_norm", "nn.relu"]
    changes = [e.change for e in found]
    for change in changes:
        assert change is not None and "bind all weights" in str(change)
        assert "run SimplifyInference, FoldConstant and FoldScaleAxis" in str(change)
        assert change.call in set(post_order(change.setup.mod["main"]))
    assert len({id(c.setup.mod) for c in changes if c}) == 1


def test_only_weights_are_bound() -> None:
    names = ("gamma", "beta", "mean", "var")
    norm = nn.batch_norm(x(), *[relay.var(n, shape=(4,)) for n in names])[0]
    (found,) = explain(IRModule.from_expr(norm), "dnnl")
    assert found.cause == "unbound-constant"
    assert "%x" not in found.reason and "%x" not in str(found.change)


@pytest.mark.parametrize("unbound", range(4))
def test_binding_one_parameter_of_a_norm_comes_before_a_pass(unbound: int) -> None:
    given = [relay.const(np.full(4, n + 1, "float32")) for n in range(4)]
    name = ("gamma", "beta", "mean", "var")[unbound]
    values = [*given[:unbound], relay.var(name, shape=(4,)), *given[unbound + 1 :]]
    norm = nn.batch_norm(conv(x()), *values)[0]
    (found,) = explain(IRModule.from_expr(nn.relu(norm)), "dnnl").host
    assert found.cause == "unbound-constant"
    assert str(found.change).startswith(f"bind %{name} with bind_params_by_name")


def test_unbound_weights_are_not_the_cause_if_binding_them_changes_nothing() -> None:
    """The pattern needs the batch norm that a pass of the pipeline decomposes."""
    norm = is_op("nn.batch_norm")(*[wildcard() for _ in range(5)])
    table = [entry("norm", is_tuple_get_item(norm, 0))]
    backends.register(NPU, patterns=table)
    statistics = [relay.var(n, shape=(4,)) for n in ("gamma", "beta", "mean", "var")]
    mod = IRModule.from_expr(nn.batch_norm(x(), *statistics)[0])
    first = [SimplifyInference(), FoldConstant()]
    last = [MergeComposite(table), AnnotateTarget(NPU), PartitionGraph()]
    (found,) = explain(mod, NPU, pipeline=[*first, *last])
    assert found.cause == "no-pattern"
    assert str(found.change) == "leave SimplifyInference out of the pipeline"


def test_every_operator_from_a_decomposed_call_must_be_supported() -> None:
    backends.register(NPU, supports=["exp"])
    norm = nn.layer_norm(x(), *[relay.const(np.full(8, n, "float32")) for n in (1, 2)])
    mod = IRModule.from_expr(norm)
    passes = [SimplifyInference(), AnnotateTarget(NPU), PartitionGraph()]
    (found,) = explain(mod, NPU, pipeline=passes)
    start = f"in the back end: {NPU} has to support "
    assert found.change is None and found.without_change.startswith(start)
    names = found.without_change.removeprefix(start).replace(" and ", ", ").split(", ")
    backends.register(NPU, supports=names)
    assert explain(mod, NPU, pipeline=passes)[0].offloaded
    for name in names:
        backends.register(NPU, supports=[n for n in names if n != name])
        assert not explain(mod, NPU, pipeline=passes)[0].offloaded, name


MOD = IRModule.from_expr(nn.relu(relay.var("x", shape=(2, 2))))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((MOD, "dnll"), UnknownNameError, "'dnll'; did you mean 'dnnl'"),
        ((MOD, 3), ArgumentError, "target must be the name of a registered back end, found int"),
        (("dnnl", MOD), ArgumentError, r"explain\(mod, 'dnnl'\), found str as the module"),
        ((MOD, "dnnl", relay.tanh(x())), UnknownNodeError, r"tanh\(...\) is not a call of this"),
        ((MOD, "dnnl", MOD["main"].params[0]), UnknownNodeError, "variable %x is not a call"),
        ((MOD, "dnnl", 5), UnknownNodeError, "5 is not a call of this module"),
        ((MOD, "dnnl", "nn.rellu"), UnknownNameError, "did you mean nn.relu"),
        ((MOD, "dnnl", "tanh"), UnknownNodeError, "no call of tanh; it has calls of nn.relu"),
        ((MOD, "dnnl", "%3"), UnknownNodeError, "shows no call as %3; there are none"),
        ((MOD, "dnnl", None, "dnll"), UnknownNameError, "did you mean 'dnnl'"),
    ],
)
def test_invalid_arguments_of_explain_are_refused_with_one_message(
    arguments: tuple, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        explain(*arguments)


def test_explain_of_an_annotated_module_is_refused() -> None:
    mod = AnnotateTarget("dnnl")(InferType()(MOD))
    with pytest.raises(ArgumentError, match="the module has annotations already, found annotation"):
        explain(mod, "dnnl")
    (found,) = explain(mod, "dnnl", pipeline=["MergeCompilerRegions", "PartitionGraph"])
    assert found.offloaded and found.region == "tvmgen_default_dnnl_main_0"


def test_explain_of_a_partitioned_module_names_its_region() -> None:
    mod = backends.partition(IRModule.from_expr(relay.sin(nn.relu(x()))), "dnnl")
    found = explain(mod, "dnnl")
    assert [e.status for e in found] == ["offloaded", "host", "offloaded"]
    (region,) = {e.region for e in found.offloaded}  # PartitionGraph adds its prefix a second time
    assert region == "tvmgen_default_tvmgen_default_dnnl_main_0"


def test_check_that_crashes_on_a_reversed_add_is_reported() -> None:
    def check(root: Call) -> bool:
        return root.args[0].op_name == "nn.conv2d"

    add = relay.add(relay.var("b", shape=(4, 1, 1)), conv())
    table = [entry("bias", is_op("add")(wildcard(), wildcard()), check)]
    backends.register(NPU, patterns=table)
    with pytest.raises(Exception, match=r"the check of the pattern .* raised AttributeError"):
        explain(IRModule.from_expr(add), NPU)


def _many_refused(count: int) -> IRModule:
    value: relay.Expr = relay.var("x", shape=(1, 4), dtype="float64")
    for n in range(count):
        value = relay.exp(value) if n % 2 else relay.nn.relu(value)
    return relay.transform.InferType()(IRModule.from_expr(value))


@pytest.mark.slow
def test_cost_of_an_explanation_is_linear() -> None:
    """In function calls: 4 times the operators take 4 times the calls, not 16."""
    steps = []
    for count in (50, 200):
        counted = cProfile.Profile()
        counted.runcall(lambda count=count: str(explain(_many_refused(count), "dnnl")))
        steps.append(pstats.Stats(counted).total_calls)
    assert steps[1] < 4.5 * steps[0]
    assert steps[1] < 200 * 16_000


def _in_no_pattern(count: int) -> IRModule:
    value: relay.Expr = relay.var("x", shape=(1, 4))
    for _ in range(count):
        value = relay.erf(value)
    return relay.transform.InferType()(IRModule.from_expr(value))


@pytest.mark.slow
def test_cost_of_many_calls_in_no_pattern_is_linear() -> None:
    """In function calls: no explanation of one call traverses the whole module."""
    steps = []
    for count in (200, 1_600):
        counted = cProfile.Profile()
        counted.runcall(lambda count=count: str(explain(_in_no_pattern(count), "dnnl")))
        steps.append(pstats.Stats(counted).total_calls)
    assert steps[1] < 9 * steps[0]


def test_casts_are_explained_without_the_passes_of_compat() -> None:
    """CanonicalizeCast is a pass of `byoc_lab.compat`, which need not be imported."""
    code = (
        "import byoc_lab\n"
        "from byoc_lab import relay\n"
        "x = relay.cast(relay.cast(relay.var('x', shape=(1, 4)), 'float64'), 'float32')\n"
        "print(byoc_lab.explain(relay.IRModule.from_expr(x), 'dnnl'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900)
    assert "cast" in done.stdout, done.stderr


def test_operator_of_a_registered_pattern_is_not_said_to_need_support() -> None:
    """The pipeline lacks MergeComposite, and the pattern needs two more changes."""
    convolution = is_op("nn.conv2d")(wildcard(), wildcard())
    pattern = is_op("nn.relu")(is_op("add")(convolution, is_constant()))
    backends.register(NPU, patterns=[(f"{NPU}.all", pattern)], supports=["exp"])
    steps = ["InferType", AnnotateTarget(NPU), "PartitionGraph"]
    found = explain(IRModule.from_expr(relay.nn.relu(relay.tanh(conv()))), NPU, pipeline=steps)
    (one,) = [e for e in found if e.name == "nn.conv2d"]
    assert "is registered with" in one.reason and "has to support nn.conv2d" not in str(one)
    (other,) = [e for e in found if e.name == "tanh"]
    assert "has to support tanh" in str(other)
    backends.register(NPU)
