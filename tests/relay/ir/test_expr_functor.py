"""Visitors and mutators of expressions: dispatch, memoized results, depth."""

from __future__ import annotations

import sys

import pytest

from byoc_lab import relay
from byoc_lab.relay import ExprFunctor, ExprMutator, ExprVisitor, MixedModeMutator, MixedModeVisitor
from byoc_lab.relay.ir.expr_functor import ExprRewriter, rewrite_with

X, Y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))


class CallCounter(ExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def visit_call(self, call: relay.Call) -> None:
        self.calls += 1
        super().visit_call(call)


class XToY(ExprMutator):
    def visit_var(self, var: relay.Var) -> relay.Expr:
        return Y if var is X else var


def chain(length: int) -> relay.Expr:
    value: relay.Expr = X
    for _ in range(length):
        value = relay.exp(value)
    return value


def test_each_node_is_visited_once() -> None:
    shared = relay.exp(X)
    counter = CallCounter()
    counter.visit(relay.add(shared, shared))
    assert counter.calls == 2


def test_mutator_keeps_unchanged_nodes() -> None:
    unchanged = relay.exp(Y)
    assert XToY().visit(unchanged) is unchanged
    changed = XToY().visit(relay.add(X, unchanged))
    assert changed.args[0] is Y and changed.args[1] is unchanged


def test_deep_graphs_do_not_change_the_recursion_limit() -> None:
    limit = sys.getrecursionlimit()
    counter = CallCounter()
    counter.visit(chain(20_000))
    assert counter.calls == 20_000
    assert sys.getrecursionlimit() == limit


def test_exception_in_a_visitor_is_raised() -> None:
    class Failing(ExprVisitor):
        def visit_var(self, var: relay.Var) -> None:
            raise KeyError(var.name_hint)

    with pytest.raises(KeyError, match="x"):
        Failing().visit(chain(2_000))


def test_mixed_mode_visitor_visits_operands_first() -> None:
    class Order(MixedModeVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def visit_call(self, call: relay.Call) -> None:
            self.names.append(call.op_name)

    order = Order()
    order.visit(relay.add(relay.exp(X), relay.nn.relu(X)))
    assert order.names == ["exp", "nn.relu", "add"]


def test_mixed_mode_mutator_gets_rewritten_operands() -> None:
    class ExpToRelu(MixedModeMutator):
        def rewrite_call(self, pre: relay.Call, post: relay.Call) -> relay.Expr:
            return relay.nn.relu(post.args[0]) if pre.is_op("exp") else post

    expected = relay.nn.relu(relay.nn.relu(X))
    assert relay.structural_equal(ExpToRelu().visit(chain(2)), expected)


def test_rewriter_rewrites_single_nodes() -> None:
    class ExpToRelu(ExprRewriter):
        def rewrite_call(self, pre: relay.Call, post: relay.Call) -> relay.Expr:
            return relay.nn.relu(post.args[0])

    assert relay.structural_equal(rewrite_with(ExpToRelu(), chain(1)), relay.nn.relu(X))


def test_missing_visit_method_is_named() -> None:
    with pytest.raises(NotImplementedError, match="ExprFunctor has no visit_var"):
        ExprFunctor().visit(X)
    with pytest.raises(TypeError, match="takes a Relay expression, found 3"):
        ExprFunctor().visit(3)
