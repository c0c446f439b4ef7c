"""`rewrite`: replace matches of a pattern by the result of a callback, until nothing changes.

Source: `DFPatternCallback` and `rewrite` of `tvm.relay.dataflow_pattern`, TVM 0.16.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from byoc_lab.errors import PassError
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.relay.patterns.grouping import find_groups
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.patterns import DFPattern
from byoc_lab.relay.typing.infer import infer_expr

_MAX_ROUNDS = 100


class DFPatternCallback(ABC):
    """A pattern and the replacement of its matches. Subclass it, set `pattern`, define `callback`.

    require_type: infer types before matching, so that `pre` is typed.
    rewrite_once: stop after the first round that changed something.
    """

    pattern: DFPattern

    def __init__(self, require_type: bool = False, rewrite_once: bool = False):
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite(self, expr)

    @abstractmethod
    def callback(self, pre: Expr, post: Expr, node_map: dict[DFPattern, list[Expr]]) -> Expr:
        """The replacement of a match: `pre` before, `post` after its parts were rewritten; return
        `post` for no change. `node_map` maps each sub-pattern to its match (rewritten)."""


def rewrite(
    callbacks: DFPatternCallback | Sequence[DFPatternCallback],
    expr: Expr,
    mod: IRModule | None = None,
) -> Expr:
    """`expr` after all callbacks are applied in order, repeatedly until a round changes nothing.

    Raises PassError after 100 rounds, because callbacks undo each other or match their own results.
    """
    active = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    applied = 0
    while True:
        before = expr
        for callback in list(active):
            if applied >= _MAX_ROUNDS:
                raise PassError(
                    f"rewriting did not converge within {_MAX_ROUNDS} rounds; check whether the "
                    f"result of {type(callback).__name__} matches its own pattern again"
                )
            if callback.require_type:
                expr = infer_expr(expr, mod)
            after = _apply(callback, expr)
            applied += 1
            if callback.rewrite_once and after is not expr and not structural_equal(after, expr):
                active.remove(callback)
            expr = after
        if before is expr or structural_equal(before, expr):
            return expr


def _apply(callback: DFPatternCallback, expr: Expr) -> Expr:
    groups = {g.root: g for g in find_groups(callback.pattern, IndexedGraph(expr))}
    if not groups:
        return expr
    memo: dict[Expr, Expr] = {}

    def replace(pre: Expr, post: Expr) -> Expr:
        group = groups.get(pre)
        if group is None:
            return post
        node_map = {p: [memo.get(e, post) for e in es] for p, es in group.taken.items()}
        return callback.callback(pre, post, node_map)

    return rebuild(expr, replace, memo=memo)
