"""Rewrite rules are applied to every node once, operands first."""

from __future__ import annotations

from typing import Any

from byoc_lab import relay
from byoc_lab.passes import Event, listening
from byoc_lab.passes.framework.hook import rewriting
from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.relay import Call, Expr, Function

X = relay.var("x", shape=(2,))


@rule("exp to abs", "a test")
def to_abs(pre: Any, post: Any) -> Expr | None:
    return relay.abs(post.args[0]) if isinstance(post, Call) and post.is_op("exp") else None


def test_each_use_of_a_rule_is_an_event() -> None:
    func = Function([X], relay.exp(relay.tanh(relay.exp(X))))
    recorded: list[Event] = []
    with listening(recorded.append), rewriting(func, "main"):
        after = rewrite(func, [to_abs])
    assert relay.structural_equal(after, Function([X], relay.abs(relay.tanh(relay.abs(X)))))
    assert [(e.rule, e.reason, e.function) for e in recorded] == [
        ("exp to abs", "a test", "main")
    ] * 2
    assert all(e.before.is_op("exp") and e.after.is_op("abs") for e in recorded)  # type: ignore


def test_expression_that_no_rule_changes_stays_the_same_object() -> None:
    func = Function([X], relay.tanh(X))
    assert rewrite(func, [to_abs]) is func


def test_first_rule_that_applies_is_used() -> None:
    @rule("exp to tanh", "a test")
    def to_tanh(pre: Any, post: Any) -> Expr | None:
        return relay.tanh(X) if isinstance(post, Call) and post.is_op("exp") else None

    after = rewrite(relay.exp(X), [to_abs, to_tanh])
    assert after.is_op("abs")


def test_shared_nodes_are_rewritten_once() -> None:
    shared = relay.exp(X)
    after = rewrite(relay.add(shared, shared), [to_abs])
    assert after.args[0] is after.args[1]


def test_node_that_is_not_entered_stays_unchanged() -> None:
    func = Function([X], relay.exp(X))
    assert rewrite(func, [to_abs], enter=lambda node: not isinstance(node, Function)) is func
