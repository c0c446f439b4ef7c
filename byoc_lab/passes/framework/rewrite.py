"""The rewriting driver: small rules, applied to every node once, operands first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.passes.framework.hook import is_heard, keeps_in, report
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.visit import Enter, rebuild

Reason = str | Callable[[Any, Expr], str]


@dataclass(frozen=True, eq=False)
class RewriteRule:
    """A rewrite with a name and a reason. `apply(pre, post)` returns the replacement, or None.

    `pre` is the original, typed node, `post` the same node with rewritten parts. reason: a
    sentence, or a function of `post` and its replacement that returns it.
    """

    name: str
    reason: Reason
    apply: Callable[[Any, Any], Expr | None]


def rule(name: str, reason: Reason) -> Callable[[Callable[[Any, Any], Expr | None]], RewriteRule]:
    """A decorator that turns a function into a RewriteRule."""
    return lambda apply: RewriteRule(name, reason, apply)


def rewrite(
    root: Expr,
    rules: Sequence[RewriteRule],
    enter: Enter | None = None,
    memo: dict[Expr, Expr] | None = None,
    prepare: Callable[[Any, Any], Expr] | None = None,
) -> Any:
    """`root` with the first rule that applies at each node; each application is an event.

    `prepare(pre, post)` may replace a node before the rules see it, without an event: a variable by
    its value, for example, if an event for the let that binds it follows.
    """

    memo = {} if memo is None else memo
    keeps_in(memo)

    def step(pre: Expr, post: Expr) -> Expr:
        if prepare is not None:
            post = prepare(pre, post)
        for r in rules:
            new = r.apply(pre, post)
            if new is not None and new is not post:
                if is_heard():
                    reason = r.reason if isinstance(r.reason, str) else r.reason(post, new)
                    report(r.name, reason, pre, new)
                return new
        return post

    return rebuild(root, step, enter, memo)
