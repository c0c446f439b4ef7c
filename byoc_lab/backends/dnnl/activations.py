"""Activations, which oneDNN applies to the result of the preceding operation.

Most activations are a single operator (`operators.py`). The others consist of several operators,
and some have several forms; each form is defined here once, as a `Spelling`. A spelling gives the
dataflow pattern for MergeComposite, the reason why a similar expression does not match, and the
native operation that code generation writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import isclose, sqrt
from operator import or_
from typing import Any

from byoc_lab.relay.ir.expr import Call, Constant, Expr
from byoc_lab.relay.patterns import DFPattern, is_op, wildcard
from byoc_lab.relay.patterns.matcher import COMMUTATIVE

X = "x"  # the operand
INSIDE = ("erf",)  # operators that DNNL computes only as part of an activation
Term = Any  # X, a number, or (operator, term, ...), optionally ending with attributes


@dataclass(frozen=True)
class Spelling:
    """A function of X, its forms as terms, and the native eltwise operation that computes it."""

    name: str
    terms: tuple[Term, ...]
    alg: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    def pattern(self, operand: DFPattern) -> DFPattern:
        """The pattern for MergeComposite; as in TVM's table, a number matches any value."""
        return reduce(or_, (_pattern(term, operand) for term in self.terms))

    def read(self, expr: Expr) -> Reading | None:
        """The reading of `expr` as this activation; None if it has another structure."""
        readings = (_read(term, expr, Reading(self)) for term in self.terms)
        return next((reading for reading in readings if reading is not None), None)


@dataclass(frozen=True)
class Reading:
    """An expression that matches a spelling: its operand, its calls, and pairs of the required
    number and the found expression."""

    spelling: Spelling
    operand: Expr | None = None
    calls: tuple[Call, ...] = ()
    numbers: tuple[tuple[float, Expr], ...] = ()

    def uses(self) -> Counter[Expr]:
        """The number of uses of each expression by the calls of the reading."""
        return Counter(part for call in self.calls for part in call.parts())

    def why_not(self) -> str | None:
        """The reason why the expression computes a different function; None if it computes the
        activation."""
        for wanted, found in self.numbers:
            value = found.numpy() if isinstance(found, Constant) else None
            if value is None or value.size != 1:
                return f"{self.spelling.name} needs the number {wanted:.6g}, found a tensor"
            if not isclose(float(value.reshape(())), wanted, rel_tol=1e-5):
                return (
                    f"{self.spelling.name} needs the number {wanted:.6g}, "
                    f"found {float(value.reshape(())):.6g}"
                )
        if self.operand is not None and self.operand.is_typed and self.calls[0].is_typed:
            given, made = self.operand.checked_type, self.calls[0].checked_type
            if given != made:  # a number with more axes than the operand adds axes to the result
                return (
                    f"{self.spelling.name} must keep the shape of its operand {given}, found {made}"
                )
        return None


def _pattern(term: Term, operand: DFPattern) -> DFPattern:
    if term is X:
        return operand
    if isinstance(term, float):
        return wildcard()
    name, parts, attrs = _opened(term)
    found = is_op(name)(*(_pattern(p, operand) for p in parts))
    return found.has_attr(attrs) if attrs else found


def _opened(term: Term) -> tuple[str, list[Term], Mapping[str, Any]]:
    """The operator of a term, its operands and its required attributes."""
    name, *parts = term
    attrs = parts.pop() if isinstance(parts[-1], Mapping) else {}
    return name, parts, attrs


def _read(term: Term, expr: Expr, so_far: Reading) -> Reading | None:
    """`so_far`, extended by the match of `term` with `expr`. The recursion is as deep as the
    term."""
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
    if not isinstance(expr, Call) or not expr.is_op(term[0]):
        return None
    name, parts, attrs = _opened(term)
    if len(expr.args) != len(parts):
        return None
    if any(expr.attrs is None or expr.attrs[key] != value for key, value in attrs.items()):
        return None
    orders: tuple[Sequence[Expr], ...] = (expr.args,)
    if name in COMMUTATIVE:  # match a constant with a number before X
        first = sorted(expr.args, key=lambda arg: isinstance(arg, Constant))
        orders = (first, first[::-1])
    for args in orders:
        found: Reading | None = Reading(spelling, operand, (*calls, expr), numbers)
        for part, arg in zip(parts, args, strict=True):
            found = _read(part, arg, found) if found is not None else None
        if found is not None:
            return found
    return None


GELU = Spelling(
    "gelu",
    (("multiply", ("multiply", X, ("add", ("erf", ("divide", X, sqrt(2.0))), 1.0)), 0.5),),
    "gelu",
)
# The form that the importers of ONNX and PyTorch create.
GELU_OF_HALVES = Spelling(
    "gelu_of_halves",
    (("multiply", X, ("add", 0.5, ("multiply", 0.5, ("erf", ("multiply", X, sqrt(0.5)))))),),
    "gelu",
)
SWISH = Spelling("swish", (("multiply", X, ("sigmoid", X)),), "swish", {"alpha": 1.0})
MISH = Spelling("mish", (("multiply", X, ("tanh", ("log", ("add", ("exp", X), 1.0)))),), "mish")
_UP_TO_6 = ("clip", ("add", X, 3.0), {"a_min": 0.0, "a_max": 6.0})
_UP_TO_1 = ("clip", ("add", ("multiply", X, 1 / 6), 0.5), {"a_min": 0.0, "a_max": 1.0})
_SIXTH = {"alpha": 1 / 6, "beta": 0.5}
HARD_SIGMOID = Spelling(
    "hard_sigmoid",
    (("divide", _UP_TO_6, 6.0), ("multiply", _UP_TO_6, 1 / 6), _UP_TO_1),
    "hard_sigmoid",
    _SIXTH,
)
HARD_SWISH = Spelling(
    "hard_swish",
    (
        *(("multiply", X, term) for term in HARD_SIGMOID.terms),
        ("divide", ("multiply", X, _UP_TO_6), 6.0),
        ("multiply", ("multiply", X, _UP_TO_6), 1 / 6),
    ),
    "hard_swish",
    _SIXTH,
)
ALONE = (HARD_SWISH, HARD_SIGMOID, GELU_OF_HALVES)
"""Activations that become one kernel with any preceding operator."""
SPELLINGS = {spelling.name: spelling for spelling in (GELU, SWISH, MISH, *ALONE)}
