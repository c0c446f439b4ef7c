"""Node matching: the typed copy of a node is found."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lab.view.node_matching import NodeMatcher
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import nn


def test_the_typed_copy_is_found() -> None:
    x = relay.var("x", shape=(2, 2))
    made = nn.relu(x + relay.const(1.0))
    mod = InferType()(relay.IRModule.from_expr(relay.exp(made)))
    found = NodeMatcher(mod).find(made)
    assert found is mod["main"].body.args[0]
    assert found is not made and found.is_typed


def test_a_node_that_computes_something_else_does_not_match() -> None:
    x, y = relay.var("x", shape=(2, 2)), relay.var("y", shape=(2, 2))
    body = relay.Tuple([nn.relu(x), nn.leaky_relu(x, 0.1), y])
    matcher = NodeMatcher(relay.IRModule.from_expr(body))
    for other in (nn.relu(y), nn.leaky_relu(x, 0.2), relay.exp(x), x + relay.const(1.0)):
        assert matcher.find(other) is None
    assert matcher.find(nn.leaky_relu(x, 0.1)) is not None


def test_a_long_chain_needs_no_recursion() -> None:
    x: relay.Expr = relay.var("x", shape=(2, 2))
    for _ in range(20_000):
        x = nn.relu(x)
    assert NodeMatcher(relay.Function(relay.analysis.free_vars(x), x)).find(x) is x
