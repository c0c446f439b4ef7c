"""Matches in a whole graph: the tried nodes, and the rewritten ones."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.relay.patterns import (
    ConstantPattern,
    VarPattern,
    WildcardPattern,
    is_constant,
    is_var,
    wildcard,
)
from byoc_lab.relay.patterns.grouping import find_groups
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from tests.relay.patterns.chains import RELU, chain


def test_only_calls_of_the_root_operator_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    from byoc_lab.relay.patterns import grouping

    tried: list[relay.Expr] = []
    real = grouping.find_match

    def spy(pattern, expr, graph):
        tried.append(expr)
        return real(pattern, expr, graph)

    monkeypatch.setattr(grouping, "find_match", spy)
    graph = IndexedGraph(chain(100))
    assert len(find_groups(RELU(wildcard()), graph)) == 1
    assert [call.op.name for call in tried] == ["nn.relu"]


@pytest.mark.parametrize("leaf", [is_var(), is_var("x"), wildcard(), is_constant()], ids=str)
def test_single_leaf_pattern_rewrites_no_variable_and_no_call(leaf) -> None:
    """As in TVM: a single leaf rewrites no variable and no call, but rewrites a constant."""
    x = relay.var("x", shape=(2,))
    body = relay.add(relay.abs(x), relay.const(1.0))
    function = relay.Function([x], body)
    asked: list[relay.Expr] = []

    class Ask(relay.dataflow_pattern.DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.pattern = leaf

        def callback(self, pre, post, node_map):
            asked.append(pre)
            return post

    assert relay.dataflow_pattern.rewrite(Ask(), function) is function
    wanted = {WildcardPattern: [relay.Function], ConstantPattern: [relay.Constant], VarPattern: []}
    assert [type(node) for node in asked] == wanted[type(leaf)]
