"""Matching: whether an expression matches a pattern, and what each sub-pattern matched.

Pattern and expression are walked together, from their roots to the operands: method `fits` of each
kind of pattern compares its own condition, and matches its sub-patterns with the operands of the
expression. `Matcher.taken` records the match of each pattern, so that a pattern used twice matches
only one expression. If an alternative (an order of operands, a side of `|`) fails, its records are
removed before the next alternative is tried. The first alternative that matches is final: there is
no backtracking to others if another part of the pattern fails.

The time of a match is proportional to the size of the pattern; each level of nested commutative
operators and alternatives may double it. A dominator also walks its path once.

Source: the matching algorithm of TVM 0.16 (src/relay/ir/dataflow_matcher.cc).
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.errors import PassError
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.patterns import CallPattern, DFPattern, DominatorPattern
from byoc_lab.relay.typing.infer import infer_expr

COMMUTATIVE = ("add", "multiply")
"""The operators whose operands TVM's matchers (for Relay and Relax) try in both orders."""

Taken = dict[DFPattern, list[Expr]]


def find_match(pattern: DFPattern, expr: Expr, graph: IndexedGraph) -> Taken | None:
    """The expressions that each sub-pattern matches if `pattern` matches `expr`, a node of
    `graph`; None if it does not.

    A sub-pattern matches one expression; on the path of a dominator pattern it may match several.
    Raises PassError if the match is nested too deeply: a pattern that is redirected to itself can
    match chains of some hundred nodes, not of thousands.
    """
    matcher = Matcher(graph)
    try:
        return matcher.taken if matcher.match(pattern, expr) else None
    except RecursionError:
        raise PassError(
            f"{type(pattern).__name__} matches too deeply nested nodes; a pattern that is "
            f"redirected to itself (redirect_to) must match shorter chains"
        ) from None


def matches(pattern: DFPattern, expr: Expr) -> bool:
    """Whether `expr` as a whole matches `pattern`. Raises PassError as `find_match` does."""
    return find_match(pattern, expr, IndexedGraph(expr)) is not None


class Matcher:
    """One attempt. After a successful `match`, `taken` maps each pattern node to its match."""

    def __init__(self, graph: IndexedGraph) -> None:
        self.graph = graph
        self.taken: Taken = {}
        self._order: list[DFPattern] = []
        # Whether a sub-pattern must match the same expression each time it is used.
        self._bound = True

    def match(self, pattern: DFPattern, expr: Expr) -> bool:
        """Whether `expr` matches; a pattern that matched before must match the same expression."""
        if self._bound and pattern in self.taken:
            return any(e is expr for e in self.taken[pattern])
        mark = len(self._order)
        if pattern.fits(self, expr):
            self.taken.setdefault(pattern, []).append(expr)
            self._order.append(pattern)
            return True
        self._undo(mark)
        return False

    def match_all(self, patterns: Sequence[DFPattern], exprs: Sequence[Expr]) -> bool:
        """Whether expressions of equal number match, pairwise and in order."""
        mark = len(self._order)
        if len(patterns) == len(exprs) and all(map(self.match, patterns, exprs)):
            return True
        self._undo(mark)
        return False

    def match_call(self, pattern: CallPattern, call: Call) -> bool:
        mark = len(self._order)
        if not self.match(pattern.op, call.op):
            self._undo(mark)
            return self._match_reassociated(pattern, call)
        if pattern.args is None or self.match_all(pattern.args, call.args):
            return True
        return pattern.op_name() in COMMUTATIVE and self.match_all(pattern.args[::-1], call.args)

    def match_dominated(self, pattern: DominatorPattern, expr: Expr) -> bool:
        """Whether `expr` matches the child, and all paths back from it match the path and end at
        one node that matches the parent."""
        if not self.match(pattern.child, expr) or not self._match_path(pattern, expr):
            return False
        # `match` has bound the parent to one node, which must not be used outside the paths to
        # `expr`.
        parent = self.taken[pattern.parent][0]
        return parent is not expr and self.graph.dominates(expr, parent)

    def _match_path(self, pattern: DominatorPattern, expr: Expr) -> bool:
        def is_parent(source: Expr) -> bool:
            return self.match(pattern.parent, source)

        def is_on_path(source: Expr) -> bool:
            return self._match_unbound(pattern.path, source)

        return self.graph.off_path(expr, is_parent, is_on_path) is None

    def _match_unbound(self, pattern: DFPattern, expr: Expr) -> bool:
        """Whether `expr` matches, independent of earlier matches of `pattern`."""
        before, self._bound = self._bound, False
        try:
            return self.match(pattern, expr)
        finally:
            self._bound = before

    def _match_reassociated(self, pattern: CallPattern, call: Call) -> bool:
        """(a * b) / c also matches a * (b / c) and b * (a / c); a * (b / c) matches (a * b) / c."""
        name, args = pattern.op_name(), pattern.args or ()
        if name == "divide" and call.is_op("multiply") and _any_is(call.args, "divide"):
            product = args[0] if args else None
            if isinstance(product, CallPattern) and product.op_name() == "multiply":
                for a, b in (product.args or ())[:2], (product.args or ())[1::-1]:
                    inner = CallPattern(pattern.op, (a, args[1]))
                    if self.match(CallPattern(product.op, (b, inner)), call):
                        return True
        if name == "multiply" and call.is_op("divide") and _any_is(call.args, "multiply"):
            quotient: DFPattern
            for quotient, other in (args, args[::-1]):
                if isinstance(quotient, CallPattern) and quotient.op_name() == "divide":
                    top, bottom = quotient.args or ()
                    product = CallPattern(pattern.op, (top, other))
                    return self.match(CallPattern(quotient.op, (product, bottom)), call)
        return False

    def type_of(self, expr: Expr) -> Type | None:
        """The type of a candidate, inferred here if needed; an operator has none."""
        if isinstance(expr, Op):
            return None
        return expr.checked_type if expr.is_typed else infer_expr(expr).checked_type

    def _undo(self, mark: int) -> None:
        for pattern in self._order[mark:]:
            self.taken.pop(pattern, None)
        del self._order[mark:]


def _any_is(args: Sequence[Expr], op: str) -> bool:
    return any(isinstance(a, Call) and a.is_op(op) for a in args)
