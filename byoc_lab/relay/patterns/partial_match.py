"""The result of matching a pattern partially: how much of it matched, and the mismatches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from byoc_lab.errors import counted
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.relay.patterns.below import called_operators, size_of
from byoc_lab.relay.patterns.expectation import expectation, listed
from byoc_lab.relay.patterns.patterns import (
    AttrPattern,
    CallPattern,
    DataTypePattern,
    ShapePattern,
    TypePattern,
)

Condition = AttrPattern | TypePattern | DataTypePattern | ShapePattern
Conditions = (AttrPattern, TypePattern, DataTypePattern, ShapePattern)


@dataclass(frozen=True, eq=False, slots=True)
class Mismatch:
    """A mismatch: `found` is not the expression that `pattern` expects.

    user: the matching expression that has `found` as an operand. below: the matching operand, if
    `found` is its user (or the function whose result it is). others: alternative patterns that
    would also match here. reused: one pattern object would have to match several values. path: from
    the root of the pattern to `pattern`, in operands and fields, such as ".args[0].args[1]".
    outside: the values between the ends of a dominator that are also used elsewhere, each with such
    a user; inside: all nodes between its ends, both included.
    """

    pattern: DFPattern
    found: Expr
    user: Expr | None = None
    below: Expr | None = None
    reused: bool = False
    others: tuple[DFPattern, ...] = ()
    path: str = ""
    outside: tuple[tuple[Expr, Expr], ...] = ()
    inside: frozenset[Expr] = frozenset()

    def is_at(self, other: Mismatch) -> bool:
        """Whether both mismatches are at the same position of the graph."""
        return self.found is other.found and self.path == other.path

    def seen(self, described: Callable[[Expr], str]) -> str:
        """A description of `found`, with the values of the attributes that the pattern requires; or
        of the first value that is also used outside of a dominator. described: describes a node."""
        if self.reused:
            return "different values"
        if self.outside:
            value, user = map(described, self.outside[0])
            return f"{value} inside, which is also used outside: by {user}"
        words = described(self.found)
        if not isinstance(self.pattern, AttrPattern) or not isinstance(self.found, Call):
            return words
        attrs = dict(self.found.attrs or {})
        there = [f"{k}={attrs[k]!r}" for k in self.pattern.attrs if k in attrs]
        return f"{words} with {', '.join(there)}" if there else words

    @property
    def expected(self) -> str:
        """The pattern's requirement for this expression, in words."""
        if self.reused:
            return (
                f"one value for all uses of one pattern object ({expectation(self.pattern)}; "
                "create one for each value)"
            )
        wanted = listed(map(expectation, (self.pattern, *self.others)))
        if self.operands is not None:
            asked, there = self.operands
            wanted += f" with {counted(asked, 'operand')} (not {there})"
        return wanted

    @property
    def operands(self) -> tuple[int, int] | None:
        """The number of operands that the pattern requires, and the number that the call has, if
        the call is of the pattern's operator and the numbers differ."""
        if not isinstance(self.pattern, CallPattern) or not isinstance(self.found, Call):
            return None
        asked, names = self.pattern.args, called_operators(self.pattern)
        if asked is None or (names is not None and self.found.op_name not in names):
            return None
        counts = len(asked), len(self.found.args)
        return counts if counts[0] != counts[1] else None


@dataclass(frozen=True, eq=False, slots=True)
class PartialMatch:
    """A full or partial match of a pattern with an expression.

    matched, total: the number of operators, constants, variables and conditions of the pattern that
    match, and the number of all of them. stops: the mismatches; empty if the whole pattern matches.
    covered: for a full match, the nodes that it would move; else the nodes that operators,
    constants and variables matched. beyond: the number of parts that match the value of a let
    variable, because a match cannot cross a let. values: for each part used in several positions,
    the values that it matched.
    """

    matched: int
    total: int
    stops: tuple[Mismatch, ...] = ()
    covered: frozenset[Expr] = frozenset()
    beyond: int = 0
    values: frozenset[tuple[DFPattern, Expr]] = frozenset()

    @property
    def rank(self) -> tuple[bool, float, int]:
        """A larger rank is a nearer match."""
        near = self.matched + self.beyond
        total = self.total + len(self.unequal) if self.values else self.total
        return not self.stops, near / max(total, 1), near

    @property
    def unequal(self) -> set[DFPattern]:
        """The parts that matched different values in several positions, although a part can match
        only one value."""
        places = Counter(part for part, _ in self.values)
        return {part for part, count in places.items() if count > 1}

    @property
    def needed(self) -> int:
        """The number of parts that a full match needs; greater than `matched` as long as a part
        mismatches. It includes matching optional parts, and each violated requirement that a part
        matches one value."""
        total = self.total + len(self.unequal)
        return max(total, self.matched + 1) if self.stops else total

    @printable
    def __str__(self) -> str:
        return f"{self.matched} of {self.needed}"


ANYTHING = PartialMatch(0, 0)
"""The match of a wildcard with any expression."""


def nearer(left: PartialMatch, right: PartialMatch) -> PartialMatch:
    """The nearer match of two alternatives with one expression. If both are equally near and first
    mismatch at the same position, the mismatch lists both patterns."""
    if right.rank > left.rank:
        return right
    if left.rank == right.rank and left.stops and left.stops[0].is_at(right.stops[0]):
        (first, *more), other = left.stops, right.stops[0]
        others = (*first.others, other.pattern, *other.others)
        return replace(left, stops=(replace(first, others=others), *more))
    return left


def together(first: PartialMatch, second: PartialMatch) -> PartialMatch:
    """The match of two patterns with one expression."""
    return PartialMatch(
        first.matched + second.matched + (not first.stops and not second.stops),
        first.total + second.total + 1,
        first.stops + second.stops,
        first.covered | second.covered,
        first.beyond + second.beyond,
        first.values | second.values,
    )


def used_by(stop: Mismatch, operand: Expr, user: Expr, step: str) -> Mismatch:
    """The mismatch of an operand, as a mismatch of its user: with the user and the longer path."""
    here = stop.found is operand and stop.user is None
    return replace(stop, user=user if here else stop.user, path=step + stop.path)


def stopped(pattern: DFPattern, expr: Expr) -> PartialMatch:
    return PartialMatch(0, size_of(pattern), (Mismatch(pattern, expr),))
