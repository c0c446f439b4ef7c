"""AnnotateTarget on what an earlier run has annotated."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes import AnnotateTarget, MergeCompilerRegions, PartitionGraph
from byoc_lab.relay import IRModule, structural_equal
from tests.parity.golden import golden_test


@pytest.fixture(autouse=True)
def targets() -> Any:
    """relu is taken by "first", add by "second"."""
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
def test_one_run_after_another_is_one_run(net: Any, non_calls: bool) -> None:
    mod = IRModule.from_expr(net())
    once = AnnotateTarget(["first", "second"], non_calls)(mod)
    twice = AnnotateTarget("second", non_calls)(AnnotateTarget("first", non_calls)(mod))
    assert structural_equal(twice, once)
    partitioned = PartitionGraph()(MergeCompilerRegions()(twice))
    compilers = {f.attrs.get("Compiler") for f in partitioned.functions.values()}
    assert compilers == {None, "first", "second"}


@pytest.mark.parametrize(("net", "left"), [(_last, 0), (_between, 1)])
def test_tvm_gives_over_the_end_of_a_scope_alone(net: Any, left: int) -> None:
    """What era="0.16" is asked for: an end of "default" is left where a value is used."""
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


def test_an_unknown_era_is_refused() -> None:
    with pytest.raises(PassError, match=r'era must be None or "0.16", found "?\'?2021'):
        AnnotateTarget("dnnl", era="2021")
