"""The rewriting driver: small rules, applied to every node once, operands first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.passes.framework.hook import keeps_in, report
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.visit import Enter, rebuild


@dataclass(frozen=True, eq=False)
class RewriteRule:
    """A rewrite with a name and a reason. `apply(pre, post)` gives the replacement, or None.

    `pre` is the node as it was (typed), `post` the same node made of rewritten parts.
    """

    name: str
    reason: str
    apply: Callable[[Any, Any], Expr | None]


def rule(name: str, reason: str) -> Callable[[Callable[[Any, Any], Expr | None]], RewriteRule]:
    """A decorator that makes a RewriteRule of a function."""
    return lambda apply: RewriteRule(name, reason, apply)


def rewrite(
    root: Expr,
    rules: Sequence[RewriteRule],
    enter: Enter | None = None,
    memo: dict[Expr, Expr] | None = None,
    prepare: Callable[[Any, Any], Expr] | None = None,
) -> Any:
    """`root` with the first rule that applies used at every node; each use is an event.

    `prepare(pre, post)` may put another node for one before the rules see it, without an event:
    a variable's value, say, where an event for the let that bound it follows.
    """

    memo = {} if memo is None else memo
    keeps_in(memo)

    def step(pre: Expr, post: Expr) -> Expr:
        if prepare is not None:
            post = prepare(pre, post)
        for r in rules:
            new = r.apply(pre, post)
            if new is not None and new is not post:
                report(r.name, r.reason, pre, new)
                return new
        return post

    return rebuild(root, step, enter, memo)
