"""Patterns of other languages, such as Relax, that Relay's pattern language does not have.

The matcher of their language determines whether they match its values (`relax.patterns.near_miss`).
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.patterns.patterns import DFPattern, Matching


class AndPattern(DFPattern):
    """Matches an expression that both patterns match."""

    def __init__(self, left: DFPattern, right: DFPattern):
        self.left, self.right = left, right

    def children(self) -> Sequence[DFPattern]:
        return (self.left, self.right)

    same_root = children

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return matcher.match(self.left, expr) and matcher.match(self.right, expr)


class NotPattern(DFPattern):
    """Matches an expression that a pattern does not match."""

    def __init__(self, reject: DFPattern):
        self.reject = reject

    def children(self) -> Sequence[DFPattern]:
        return (self.reject,)

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return not matcher.match(self.reject, expr)


class ForeignPattern(DFPattern):
    """A pattern of another language that matches no Relay expression. words: a description of its
    matches."""

    def __init__(self, words: str, children: Sequence[DFPattern] = ()):
        self.words, self._children = words, tuple(children)

    def children(self) -> Sequence[DFPattern]:
        return self._children

    def fits(self, matcher: Matching, expr: Expr) -> bool:
        return False
