"""MergeCompilerRegions does what TVM 0.16 does, and says why regions stay apart."""

from __future__ import annotations

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import Stage
from byoc_lab.passes import MergeCompilerRegions
from byoc_lab.relay import Expr, IRModule
from byoc_lab.relay.annotation import compiler_begin, compiler_end
from tests.parity.golden import golden_test

test_golden = golden_test("MergeCompilerRegions")


def _in(target: str, op: str, *args: Expr) -> Expr:
    begins = [compiler_begin(a, target) for a in args]
    return compiler_end(relay.Call(relay.Op.get(op), begins), target)


def _stage(net: Expr) -> Stage:
    trace = byoc_lab.trace(IRModule.from_expr(net), ["InferType", MergeCompilerRegions()])
    assert trace.error is None
    return trace[-1]


def test_a_merge_is_an_event_that_names_the_region() -> None:
    x = relay.var("x", shape=(2,))
    stage = _stage(_in("A", "exp", _in("A", "tanh", x)))
    (event,) = stage.events
    assert event.rule == "join regions"
    assert event.reason == "tanh(...) and its user are both in region 1 of A"
    assert not stage.notes


def test_regions_stay_apart_with_the_path_that_forbids_the_merge() -> None:
    x = relay.var("x", shape=(2,))
    first = _in("A", "tanh", x)
    around = _in("B", "exp", first)
    stage = _stage(_in("A", "add", first, around))
    assert not stage.events
    (note,) = stage.notes
    assert note.rule == "keep apart"
    assert isinstance(note.node, relay.Call) and note.node.args[0].args[0].op_name == "tanh"
    assert note.reason == (
        "merging would make a cycle: region 1 of A (add(...)) <- region 2 of B (exp(...)) <- "
        "region 0 of A (tanh(...))"
    )
