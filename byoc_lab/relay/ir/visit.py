"""Walking and rebuilding a graph without recursion: depth is limited by memory, not by a stack.

Every pass and analysis uses these functions. The order is Relay's: callee, arguments left to right,
then the call itself; each node once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import is_
from typing import Any

from byoc_lab.relay.ir.adt import Match
from byoc_lab.relay.ir.dataflow import Tuple, Var
from byoc_lab.relay.ir.node import Call, Expr, TupleGetItem
from byoc_lab.relay.ir.scopes import Function, If, Let

Enter = Callable[[Expr], bool]


def post_order(*roots: Expr, enter: Enter | None = None) -> Iterator[Expr]:
    """Every node below `roots`, operands first, each once.

    If `enter` is false for a node, the node is yielded, but nothing below it is visited.
    """
    seen: set[Expr] = set()
    # A node is pushed again below its parts, with None on top of it, so that it is yielded after
    # them. The stack has plain nodes instead of pairs for speed: everything else uses this loop.
    stack: list[Expr | None] = [*reversed(roots)]
    while stack:
        node = stack.pop()
        if node is None:
            yield stack.pop()  # type: ignore[misc]
        elif node not in seen:
            seen.add(node)
            parts = node.parts() if enter is None or enter(node) else ()
            if parts:
                stack += (node, None)
                stack += reversed(parts)
            else:
                yield node


def rebuild(
    root: Expr,
    rewrite: Callable[[Any, Any], Expr],
    enter: Enter | None = None,
    memo: dict[Expr, Expr] | None = None,
) -> Any:
    """`root` with `rewrite(pre, post)` applied to every node, operands first.

    `pre` is the original node, `post` the node with rewritten parts, identical to `pre` if no part
    changed. `memo` (pre -> result) may contain initial results.
    """
    memo = {} if memo is None else memo
    for node in post_order_new(root, memo, enter):
        post = with_mapped_parts(node, memo) if enter is None or enter(node) else node
        memo[node] = rewrite(node, post)
    return memo[root]


def post_order_new(root: Expr, known: Mapping[Expr, object], enter: Enter | None) -> Iterator[Expr]:
    """As `post_order`, without the nodes in `known` and everything below them."""
    stack: list[Expr | None] = [root]
    while stack:
        node = stack.pop()
        if node is None:
            yield stack.pop()  # type: ignore[misc]
        elif node not in known:
            parts = node.parts() if enter is None or enter(node) else ()
            if parts:
                stack += (node, None)
                stack += reversed(parts)
            else:
                yield node


def with_mapped_parts(node: Expr, memo: Mapping[Expr, Expr]) -> Any:
    """`node` with each part replaced by `memo[part]`; the node itself if no part changed."""
    parts = node.parts()
    new = [memo[p] for p in parts]
    if all(map(is_, parts, new)):
        return node
    return node.with_parts(new)


def substitute(root: Expr, binds: Mapping[Var, Expr], memo: dict[Expr, Expr] | None = None) -> Expr:
    """`root` with free occurrences of variables replaced. `memo` receives the result for each
    node."""
    if not binds:
        return root
    memo = {} if memo is None else memo
    memo.update(binds.items())
    return rebuild(root, lambda pre, post: post, memo=memo)


def applied(call: Call, memo: dict[Expr, Expr] | None = None) -> Expr:
    """The body of a called function literal, with arguments in place of parameters. `memo` receives
    the result for each node."""
    literal: Any = call.op
    return substitute(literal.body, dict(zip(literal.params, call.args, strict=True)), memo)


def users(root: Expr) -> dict[Expr, list[Expr]]:
    """For each node below `root`, its users, one entry per edge; the root has no users."""
    found: dict[Expr, list[Expr]] = {}
    for node in post_order(root):
        found.setdefault(node, [])
        for part in node.parts():
            found[part].append(node)
    return found


def is_dataflow(node: Expr) -> bool:
    """Whether a node is plain dataflow: evaluating it evaluates all its parts."""
    return isinstance(node, (Call, Tuple, TupleGetItem))


def opens_scope(node: Expr) -> bool:
    """Whether some parts of a node are in a nested scope."""
    return isinstance(node, (Function, Let, If, Match))


def contains(root: Expr, wanted: Iterable[Expr]) -> bool:
    """Whether `root` or a node below it is in `wanted`."""
    targets = set(wanted)
    return any(n in targets for n in post_order(root))
