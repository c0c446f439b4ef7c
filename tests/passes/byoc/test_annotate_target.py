"""AnnotateTarget: consecutive runs, events, notes and arguments. (Golden files compare it with
TVM.)"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.lab.tracing import Stage
from byoc_lab.passes import AnnotateTarget, MergeCompilerRegions, PartitionGraph
from byoc_lab.passes.framework.predicates import Refused
from byoc_lab.relay import IRModule, structural_equal
from byoc_lab.relay.analysis.annotations import is_annotation
from tests.parity.golden import golden_test


@pytest.fixture(autouse=True)
def targets() -> Any:
    """relu is supported by "first", add by "second"."""
    marks = (("nn.relu", "target.first"), ("add", "target.second"))
    for name, key in marks:
        relay.op.get(name).set_attr(key, lambda call: True)
    yield
    for name, key in marks:
        relay.op.get(name).reset_attr(key)


def _last() -> relay.Expr:
    r = relay.nn.relu(relay.var("x", shape=(2, 3)))
    return relay.abs(r) + relay.nn.relu(r)


def _between() -> relay.Expr:
    x = relay.var("x", shape=(2, 3))
    return relay.nn.relu(x + relay.nn.relu(x))


@pytest.mark.parametrize("net", [_last, _between])
@pytest.mark.parametrize("non_calls", [True, False])
def test_two_runs_give_the_annotations_of_one_run(net: Any, non_calls: bool) -> None:
    mod = IRModule.from_expr(net())
    once = AnnotateTarget(["first", "second"], non_calls)(mod)
    twice = AnnotateTarget("second", non_calls)(AnnotateTarget("first", non_calls)(mod))
    assert structural_equal(twice, once)
    partitioned = PartitionGraph()(MergeCompilerRegions()(twice))
    compilers = {f.attrs.get("Compiler") for f in partitioned.functions.values()}
    assert compilers == {None, "first", "second"}


@pytest.mark.parametrize(("net", "left"), [(_last, 0), (_between, 1)])
def test_era_0_16_leaves_an_end_of_default(net: Any, left: int) -> None:
    """With era="0.16" an end of "default" remains at each use of the value."""
    mod = AnnotateTarget("first", era="0.16")(IRModule.from_expr(net()))
    mod = AnnotateTarget("second", era="0.16")(mod)
    wrong = [
        n
        for n in relay.ir.visit.post_order(mod["main"])
        if isinstance(n, relay.Call)
        and n.is_op("annotation.compiler_end")
        and n.attrs.compiler == "default"
        and n.args[0].is_op("add")
    ]
    assert len(wrong) == left


# Golden files

test_golden = golden_test("AnnotateTarget")


def test_unknown_era_is_refused() -> None:
    with pytest.raises(PassError, match=r'era must be None or "0.16", found "?\'?2021'):
        AnnotateTarget("dnnl", era="2021")


# Events and notes


def _trace(net: relay.Expr, *targets: str) -> Stage:
    trace = byoc_lab.trace(IRModule.from_expr(net), ["InferType", AnnotateTarget(list(targets))])
    assert trace.error is None
    return trace[-1]


def test_each_begin_and_each_end_is_an_event() -> None:
    stage = _trace(_between(), "first", "second")
    assert [str(e).split(": ")[1] for e in stage.events] == [
        "begin first",
        "begin second",
        "end first",
        "begin second",
        "end second",
        "begin first",
        "end first",
    ]
    reasons = [e.reason for e in stage.events]
    assert reasons[:2] == ["first supports nn.relu", "second supports add"]
    assert reasons[-1] == "its value leaves the region and its scope"
    for count, event in enumerate(stage.events, 1):
        before, after = (_annotations(stage.state_after(n)) for n in (count - 1, count))
        kind, compiler = event.rule.split()
        assert after - before == Counter([(f"annotation.compiler_{kind}", compiler)])
        assert not before - after


def _annotations(mod: IRModule) -> Counter[tuple[str, str]]:
    nodes = relay.ir.visit.post_order(mod["main"])
    return Counter((n.op_name, n.attrs.compiler) for n in nodes if is_annotation(n))


def test_node_with_very_many_operands_has_one_event_for_the_last_operands() -> None:
    x = relay.var("x", shape=(2, 3))
    stage = _trace(relay.concatenate([relay.nn.relu(x) for _ in range(400)], axis=0), "first")
    assert len(stage.events) < 1600
    assert stage.after is not None
    assert structural_equal(stage.state_after(len(stage.events)), stage.after)


def test_refusals_are_notes_with_the_back_end_s_reason() -> None:
    x, w = relay.var("x", shape=(1, 32, 8, 8)), relay.var("w", shape=(32, 1, 3, 3))
    conv = relay.nn.conv2d(x, w, groups=32, kernel_size=(3, 3), channels=32)
    op = relay.op.get("nn.conv2d")
    op.set_attr(
        "target.third",
        lambda call: call.attrs.groups == 1 or Refused(f"groups={call.attrs.groups}"),
    )
    op.set_attr("target.fourth", lambda call: call.attrs.groups == 1)
    try:
        stage = _trace(relay.nn.relu(conv), "third", "fourth", "first")
    finally:
        op.reset_attr("target.third")
        op.reset_attr("target.fourth")
    assert [n.reason for n in stage.notes] == [
        "third refuses nn.conv2d: groups=32",
        "fourth refuses nn.conv2d without a reason (padding=(0, 0, 0, 0), groups=32, channels=32, "
        "kernel_size=(3, 3)): it returned False, not Refused('...')",
        "first does not list nn.conv2d among its operators",
        "third does not list nn.relu among its operators",
        "fourth does not list nn.relu among its operators",
    ]
    assert [n.rule for n in stage.notes][:3] == ["refuse third", "refuse fourth", "refuse first"]
    assert all(n.node in set(relay.ir.visit.post_order(stage.before["main"])) for n in stage.notes)
    assert str(stage.notes[0]) == (
        "@main: refuse third: nn.conv2d(...) (third refuses nn.conv2d: groups=32)"
    )


def test_composite_of_another_compiler_is_refused_with_its_name() -> None:
    x = relay.var("x", shape=(2, 3))
    p = relay.var("p", shape=(2, 3))
    composite = relay.Function([p], relay.nn.relu(p)).with_attr("Composite", "second.relu")
    stage = _trace(composite(x), "first", "second")
    (refused,) = stage.notes
    assert refused.reason == (
        "the name of the composite function second.relu does not begin with 'first.'"
    )
