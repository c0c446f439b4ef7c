"""MergeComposite gives TVM 0.16's modules, and reports the node that each sub-pattern bound."""

from __future__ import annotations

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import Stage
from byoc_lab.passes import MergeComposite
from byoc_lab.passes.framework.predicates import Refused
from byoc_lab.relay import Call, IRModule
from byoc_lab.relay.dataflow_pattern import is_op, wildcard
from byoc_lab.relay.ir.visit import post_order
from tests.parity.golden import golden_test

test_golden = golden_test("MergeComposite")


def _network() -> IRModule:
    x, w, b = (relay.var(n, shape=s) for n, s in (("x", (2, 4)), ("w", (8, 4)), ("b", (2, 8))))
    return IRModule.from_expr(relay.nn.relu(relay.add(relay.nn.dense(x, w), b)))


def _stage(*table: tuple) -> Stage:
    trace = byoc_lab.trace(_network(), ["InferType", MergeComposite(list(table))])
    assert trace.error is None
    return trace[-1]


CHAIN = is_op("nn.relu")(is_op("add")(is_op("nn.dense")(wildcard(), wildcard()), wildcard()))


def test_event_has_the_node_bound_by_each_sub_pattern() -> None:
    stage = _stage(("a.chain", CHAIN))
    (event,) = stage.events
    assert event.rule == "a.chain"
    nodes = {n.op_name: n for n in post_order(stage.before["main"]) if isinstance(n, Call)}
    params = stage.before["main"].params
    assert event.bound == {
        "nn.relu": nodes["nn.relu"],
        "add": nodes["add"],
        "nn.dense": nodes["nn.dense"],
        "*": params[0],
        "* #2": params[1],
        "* #3": params[2],
    }
    assert event.reason == (
        "the pattern matches: * = variable %x, * #2 = variable %w, nn.dense(...), "
        "* #3 = variable %b, add(...), nn.relu(...)"
    )


def test_refusal_by_a_check_is_a_note() -> None:
    def narrow(match: Call) -> bool | Refused:
        width = match.checked_type.shape[1]
        return width <= 4 or Refused(f"at most 4 columns, found {width}")

    stage = _stage(("a.chain", CHAIN, narrow), ("a.relu", is_op("nn.relu")(wildcard())))
    (refused,) = stage.notes
    assert refused.rule == "refuse a.chain"
    assert refused.reason == "the check of a.chain refuses nn.relu: at most 4 columns, found 8"
    assert isinstance(refused.node, Call) and refused.node.op_name == "nn.relu"
    assert [e.rule for e in stage.events] == ["a.relu"]
