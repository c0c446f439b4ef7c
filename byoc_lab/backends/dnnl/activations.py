"""Activations: what Relay writes after a convolution and oneDNN applies to its result.

Most are one operator (`operators.py`). Three are spelled with several; each spelling is defined
once here. From it follow the dataflow pattern that MergeComposite looks for, the reason why
something much like it is not it, and the one native operation that code generation writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isclose, sqrt
from typing import Any

from byoc_lab.relay.ir.expr import Call, Constant, Expr
from byoc_lab.relay.patterns import DFPattern, is_op, wildcard
from byoc_lab.relay.patterns.matcher import COMMUTATIVE

X = "x"  # the operand
Term = Any  # X, a number, or (operator, term, ...)


@dataclass(frozen=True)
class Spelling:
    """A function of X written as a term, and the native eltwise operation that computes it."""

    name: str
    term: Term
    alg: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    def pattern(self, operand: DFPattern) -> DFPattern:
        """What MergeComposite looks for; as in TVM's table any value may stand for a number."""
        return _pattern(self.term, operand)

    def read(self, expr: Expr) -> Reading | None:
        """How `expr` is spelled this way, or None when it has another structure."""
        return _read(self.term, expr, Reading(self))


@dataclass(frozen=True)
class Reading:
    """An expression read as a spelling: its operand, the calls between, the numbers found."""

    spelling: Spelling
    operand: Expr | None = None
    calls: tuple[Call, ...] = ()
    numbers: tuple[tuple[float, Expr], ...] = ()

    def uses(self) -> Counter[Expr]:
        """How often its calls use each expression."""
        return Counter(part for call in self.calls for part in call.parts())

    def why_not(self) -> str | None:
        """Why this is another function, in words; None when it is the one spelled."""
        for wanted, found in self.numbers:
            value = found.numpy() if isinstance(found, Constant) else None
            if value is None or value.size != 1:
                return f"{self.spelling.name} has the number {wanted:.6g} where a tensor stands"
            if not isclose(float(value.reshape(())), wanted, rel_tol=1e-5):
                return (
                    f"{self.spelling.name} has the number {wanted:.6g}, "
                    f"found {float(value.reshape(())):.6g}"
                )
        if self.operand is not None and self.operand.is_typed and self.calls[0].is_typed:
            given, made = self.operand.checked_type, self.calls[0].checked_type
            if given != made:  # a number with more axes than the operand gives them to the result
                return f"{self.spelling.name} keeps the shape of its operand, {given}, found {made}"
        return None


def _pattern(term: Term, operand: DFPattern) -> DFPattern:
    if term is X:
        return operand
    if isinstance(term, float):
        return wildcard()
    name, *parts = term
    return is_op(name)(*(_pattern(p, operand) for p in parts))


def _read(term: Term, expr: Expr, so_far: Reading) -> Reading | None:
    """`so_far` with what `expr` adds to it (as deep as the term, however deep the graph is)."""
    spelling, operand, calls, numbers = (
        so_far.spelling,
        so_far.operand,
        so_far.calls,
        so_far.numbers,
    )
    if term is X:
        if operand is not None and operand is not expr:
            return None
        return Reading(spelling, expr, calls, numbers)
    if isinstance(term, float):
        return Reading(spelling, operand, calls, (*numbers, (term, expr)))
    name, *parts = term
    if not isinstance(expr, Call) or not expr.is_op(name) or len(expr.args) != len(parts):
        return None
    for args in (expr.args, expr.args[::-1]) if name in COMMUTATIVE else (expr.args,):
        found: Reading | None = Reading(spelling, operand, (*calls, expr), numbers)
        for part, arg in zip(parts, args, strict=True):
            found = _read(part, arg, found) if found is not None else None
        if found is not None:
            return found
    return None


GELU = Spelling(
    "gelu",
    ("multiply", ("multiply", X, ("add", ("erf", ("divide", X, sqrt(2.0))), 1.0)), 0.5),
    "gelu",
)
SWISH = Spelling("swish", ("multiply", X, ("sigmoid", X)), "swish", {"alpha": 1.0})
MISH = Spelling("mish", ("multiply", X, ("tanh", ("log", ("add", ("exp", X), 1.0)))), "mish")
SPELLINGS = {spelling.name: spelling for spelling in (GELU, SWISH, MISH)}
