"""Finds patterns that no expression can match, with the definitions of the operators in them."""

from __future__ import annotations

from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.patterns.below import post_order_patterns
from byoc_lab.relay.patterns.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    DFPattern,
    ExprPattern,
)


def why_impossible(pattern: DFPattern) -> str:
    """The reason why no expression can match a pattern; empty if an expression may."""
    why: dict[DFPattern, str] = {}
    for part in post_order_patterns(pattern):
        below = [why.get(c, "") for c in part.children()]
        if isinstance(part, AltPattern):  # one possible alternative is enough
            why[part] = below[0] if all(below) else ""
        else:
            why[part] = next(filter(None, below), "") or _why(part)
    return why[pattern]


def _why(part: DFPattern) -> str:
    """The reason why no call can match a pattern, whatever its operands are."""
    op = _operator(part)
    if op is None:
        return ""
    if isinstance(part, CallPattern) and part.args is not None:
        wanted, known = len(part.args), op.num_inputs
        if known >= 0 and wanted != known:
            return f"asks for {wanted} operands of {op.name}, which has {known}"
    if isinstance(part, AttrPattern) and isinstance(part.pattern, CallPattern):
        schema = op.definition.attrs
        fields = [f.name for f in schema.fields] if schema is not None else []
        for name in part.attrs:
            if name not in fields:
                return f"asks for the attribute {name!r}, which {op.name} does not have"
    return ""


def _operator(part: DFPattern) -> Op | None:
    """The operator that a call pattern requires."""
    call = part.pattern if isinstance(part, AttrPattern) else part
    if not isinstance(call, CallPattern):
        return None
    inner = call.op
    while isinstance(inner, AttrPattern):
        inner = inner.pattern
    named = inner.expr if isinstance(inner, ExprPattern) else None
    return named if isinstance(named, Op) else None
