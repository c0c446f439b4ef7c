"""Traversals and rewrites of graphs without recursion."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.relay.ir.visit import (
    applied,
    contains,
    post_order,
    post_order_new,
    rebuild,
    substitute,
    users,
)

X, Y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))


def test_post_order_yields_operands_first_and_each_node_once() -> None:
    shared = relay.nn.relu(X)
    root = relay.add(shared, shared)
    assert list(post_order(root)) == [root.op, shared.op, X, shared, root]


def test_post_order_skips_nodes_below_one_that_is_not_entered() -> None:
    root = relay.exp(relay.nn.relu(X))
    found = list(post_order(root, enter=lambda n: n is root))
    assert found == [root.op, root.args[0], root]


def test_known_nodes_are_skipped_with_their_operands() -> None:
    inner = relay.nn.relu(X)
    root = relay.exp(inner)
    assert list(post_order_new(root, {inner: None}, None)) == [root.op, root]


def test_rebuild_without_changes_returns_the_same_object() -> None:
    root = relay.add(relay.nn.relu(X), Y)
    assert rebuild(root, lambda pre, post: post) is root


def test_rebuild_keeps_sharing() -> None:
    shared = relay.nn.relu(X)
    changed = rebuild(relay.add(shared, shared), lambda pre, post: Y if pre is X else post)
    assert changed.args[0] is changed.args[1]
    assert changed.args[0].args[0] is Y


def test_only_free_occurrences_are_replaced() -> None:
    function = relay.Function([X], relay.add(X, Y))
    replaced = substitute(function, {Y: relay.const(1.0)})
    assert replaced.params == function.params
    assert isinstance(replaced.body.args[1], relay.Constant)


def test_applied_function_is_its_body() -> None:
    call = relay.Call(relay.Function([X], relay.exp(X)), [Y])
    assert relay.structural_equal(applied(call), relay.exp(Y))


def test_users_are_listed_once_per_edge() -> None:
    root = relay.add(X, X)
    assert users(root)[X] == [root, root]
    assert not users(root).get(root)


def test_contains_finds_nodes_of_a_graph() -> None:
    root = relay.exp(X)
    assert contains(root, [X]) and contains(root, [root])
    assert not contains(root, [Y])


def test_long_chains_need_no_stack() -> None:
    value: relay.Expr = X
    for _ in range(100_000):
        value = relay.exp(value)
    assert sum(1 for _ in post_order(value)) == 100_002
    assert contains(rebuild(value, lambda pre, post: Y if pre is X else post), [Y])
