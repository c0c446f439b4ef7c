"""Changes of a pattern at its mismatch, the smallest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy

from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.patterns import DFPattern, is_op, wildcard
from byoc_lab.relay.patterns.below import called_operators, post_order_patterns
from byoc_lab.relay.patterns.expectation import callee_in_words, expectation
from byoc_lab.relay.patterns.partial_match import Conditions, Mismatch
from byoc_lab.relay.patterns.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DominatorPattern,
    ExprPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    WildcardPattern,
)


def relaxed(pattern: DFPattern, stop: Mismatch) -> Iterator[tuple[str, DFPattern]]:
    """Patterns that also accept the expression at the mismatch, each with the change in words.

    An operator becomes optional, may have its operands in the other order, or may be a different
    operator; a condition is left out; a constant may be any value; a part that occurs several times
    may match a different value at each occurrence.
    """
    at, found = stop.pattern, stop.found
    if stop.reused:
        each = f"write a separate pattern ({expectation(at)}) for each value"
        yield f"{each}, if the code generator has it", _separated(pattern, at)
        return
    if isinstance(at, CallPattern):
        name = callee_in_words(at)
        yield from _between(pattern, at, stop)
        for operand in at.args or ():
            if not isinstance(operand, (WildcardPattern, ConstantPattern, ExprPattern)):
                optional = f"make {name} optional, if the code generator can do without"
                yield optional, replaced(pattern, at, operand | at)
    elif isinstance(at, Conditions):
        without = f"do not ask for {_condition(at)}, if the code generator can do without"
        yield without, replaced(pattern, at, at.pattern)
    elif isinstance(at, (ConstantPattern, ExprPattern)):
        any_value = f"accept any value in place of {stop.expected}, if the code generator does"
        yield any_value, replaced(pattern, at, wildcard())
    for part in post_order_patterns(pattern):
        if isinstance(part, CallPattern) and len(part.args or ()) == 2 and at in (part.args or ()):
            assert part.args is not None
            swapped = CallPattern(part.op, part.args[::-1])
            yield (
                f"accept the operands of {callee_in_words(part)} in either order, if the code "
                f"generator tells the two apart",
                replaced(pattern, part, part | swapped),
            )
    callee = found.op if isinstance(found, Call) else None
    same_number = isinstance(found, Call) and len(found.args) == len(
        getattr(at, "args", None) or ()
    )
    if isinstance(at, CallPattern) and isinstance(callee, Op) and same_number:
        other = CallPattern(is_op(callee.name), at.args)
        yield (
            f"accept {callee.name} in place of {callee_in_words(at)}, if the code generator has it",
            replaced(pattern, at, at | other),
        )


def _between(
    pattern: DFPattern, at: CallPattern, stop: Mismatch
) -> Iterator[tuple[str, DFPattern]]:
    """Patterns that accept the operator at the mismatch between the expected call and its operand,
    or between the expected call and its user."""
    found = stop.found
    if not isinstance(found, Call) or not isinstance(found.op, Op) or found is stop.below:
        return
    name = found.op.name
    parts = [at] if stop.below is None else [p for p in at.args or () if isinstance(p, CallPattern)]
    for part in parts:
        below = (
            n
            for n, a in enumerate(found.args)
            if (a is stop.below if stop.below is not None else _calls(a, part))
        )
        operands: list[DFPattern] = [wildcard() for _ in found.args]
        operands[next(below, 0)] = part
        yield (
            f"accept {name} after {callee_in_words(part)}, if the code generator has it",
            replaced(pattern, part, part | is_op(name)(*operands)),
        )


def _calls(value: Expr, part: CallPattern) -> bool:
    return isinstance(value, Call) and value.op_name in (called_operators(part) or ())


def _condition(at: DFPattern) -> str:
    if isinstance(at, AttrPattern):
        return ", ".join(f"{k}={v!r}" for k, v in at.attrs.items())
    if isinstance(at, DataTypePattern):
        return f"dtype {at.dtype}"
    return f"shape {at.shape}" if isinstance(at, ShapePattern) else "its type"


def replaced(pattern: DFPattern, old: DFPattern, new: DFPattern) -> DFPattern:
    """A copy of a pattern with one part replaced; parts without it are shared.

    `new` may contain `old`, which is not replaced there.
    """
    made: dict[DFPattern, DFPattern] = {}
    for part in post_order_patterns(pattern):
        made[part] = new if part is old else _rebuilt(part, lambda p: made.get(p, p))
    return made[pattern]


def _separated(pattern: DFPattern, part: DFPattern) -> DFPattern:
    """A copy of a pattern with a separate copy of one part at each of its occurrences."""
    made: dict[DFPattern, DFPattern] = {}
    for p in post_order_patterns(pattern):
        made[p] = _rebuilt(p, lambda c: _copied(c) if c is part else made.get(c, c))
    return made[pattern]


def _copied(pattern: DFPattern) -> DFPattern:
    made: dict[DFPattern, DFPattern] = {}
    for p in post_order_patterns(pattern):
        made[p] = copy(_rebuilt(p, lambda c: made.get(c, c)))
    return made[pattern]


def _rebuilt(p: DFPattern, of: Callable[[DFPattern], DFPattern]) -> DFPattern:
    if all(of(c) is c for c in p.children()):
        return p
    if isinstance(p, AltPattern):
        return AltPattern(of(p.left), of(p.right))
    if isinstance(p, CallPattern):
        return CallPattern(of(p.op), None if p.args is None else [of(a) for a in p.args])
    if isinstance(p, DominatorPattern):
        return DominatorPattern(of(p.parent), of(p.path), of(p.child))
    if isinstance(p, TuplePattern):
        return TuplePattern(None if p.fields is None else [of(f) for f in p.fields])
    if isinstance(p, TupleGetItemPattern):
        return TupleGetItemPattern(of(p.tuple), p.index)
    if isinstance(p, AttrPattern):
        return AttrPattern(of(p.pattern), p.attrs)
    if isinstance(p, TypePattern):
        return TypePattern(of(p.pattern), p.type)
    if isinstance(p, DataTypePattern):
        return DataTypePattern(of(p.pattern), p.dtype)
    if isinstance(p, ShapePattern):
        return ShapePattern(of(p.pattern), p.shape)
    return p
