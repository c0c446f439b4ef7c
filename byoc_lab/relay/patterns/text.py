"""Patterns as text, similar to Relay's: `*` matches anything, `|` separates alternatives.

    %0 = nn.conv2d(*, *);
    %1 = %0 | nn.bias_add(%0, *);
    %1 | nn.relu(%1)

A pattern used in several places gets a number; it matches one value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.patterns.below import post_order_patterns
from byoc_lab.relay.patterns.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)

Words = Callable[[DFPattern], str]  # text for a sub-pattern


def pattern_text(pattern: DFPattern) -> str:
    """A pattern as text: a line for each shared sub-pattern, then the pattern itself."""
    parts = post_order_patterns(pattern)
    uses = Counter(child for part in parts for child in part.children())
    texts: dict[DFPattern, str] = {}
    numbers: dict[DFPattern, str] = {}
    lines: list[str] = []

    def number(part: DFPattern) -> str:
        return numbers.setdefault(part, f"%{len(numbers)}")

    def inside(part: DFPattern) -> str:
        if part in numbers or part not in texts:  # not known yet: the pattern contains itself
            return number(part)
        return f"({texts[part]})" if isinstance(part, AltPattern) else texts[part]

    for part in parts:
        texts[part] = _text(part, inside)
        if part in numbers or (uses[part] > 1 and not _is_name(part)):
            lines.append(f"{number(part)} = {texts[part]};")
    lines.append(numbers.get(pattern, texts[pattern]))
    return "\n".join(lines)


def short_text(pattern: DFPattern) -> str:
    """A pattern without its operands: `nn.conv2d`, `*`, `constant`; "" for a pattern that only adds
    a condition or an alternative to another pattern."""
    if isinstance(pattern, (AltPattern, AttrPattern, TypePattern, DataTypePattern, ShapePattern)):
        return ""
    if isinstance(pattern, CallPattern):
        return short_text(pattern.op) or "call"
    if isinstance(pattern, WildcardPattern):
        return short_text(pattern.pattern) if pattern.pattern else "*"
    return _text(pattern, lambda part: "..")


def bound_names(taken: Mapping[DFPattern, Sequence[Expr]]) -> dict[str, Expr]:
    """Short text of a sub-pattern -> the node that it matched. Operators are omitted, since the
    pattern names them."""
    found: dict[str, Expr] = {}
    uses: Counter[str] = Counter()
    for pattern, nodes in taken.items():
        text = short_text(pattern)
        for node in nodes if text else ():
            if not isinstance(node, Op):
                uses[text] += 1
                found[f"{text} #{uses[text]}" if uses[text] > 1 else text] = node
    return found


def _is_name(pattern: DFPattern) -> bool:
    """Whether the text of a pattern is so short that it needs no number."""
    return isinstance(pattern, ExprPattern) and isinstance(pattern.expr, Op)


def _text(p: DFPattern, inside: Words) -> str:
    known = _TEXTS.get(type(p))
    return known(p, inside) if known else f"{type(p).__name__}({_listed(p.children(), inside)})"


def _listed(parts: Any, inside: Words) -> str:
    return "..." if parts is None else ", ".join(map(inside, parts))


def _expr(p: ExprPattern, inside: Words) -> str:
    return p.expr.name if isinstance(p.expr, Op) else f"<{p.expr.summary()}>"


def _tuple(p: TuplePattern, inside: Words) -> str:
    return f"({_listed(p.fields, inside)}{',' if p.fields and len(p.fields) == 1 else ''})"


def _if(p: IfPattern, inside: Words) -> str:
    condition, then, otherwise = map(inside, p.parts)
    return f"if ({condition}) {{ {then} }} else {{ {otherwise} }}"


def _let(p: LetPattern, inside: Words) -> str:
    variable, value, body = map(inside, p.parts)
    return f"(let {variable} = {value}; {body})"


def _dominator(p: DominatorPattern, inside: Words) -> str:
    parts = map(inside, (p.parent, p.path, p.child))
    return "dominator(parent={}, path={}, child={})".format(*parts)


_TEXTS: dict[type, Callable[[Any, Words], str]] = {
    ExprPattern: _expr,
    VarPattern: lambda p, inside: f"%{p.name}" if p.name else "var",
    ConstantPattern: lambda p, inside: "constant",
    WildcardPattern: lambda p, inside: inside(p.pattern) if p.pattern else "*",
    CallPattern: lambda p, inside: f"{inside(p.op)}({_listed(p.args, inside)})",
    FunctionPattern: lambda p, inside: f"fn ({_listed(p.params, inside)}) {{ {inside(p.body)} }}",
    TuplePattern: _tuple,
    TupleGetItemPattern: lambda p, inside: (
        f"{inside(p.tuple)}.{'?' if p.index is None else p.index}"
    ),
    IfPattern: _if,
    LetPattern: _let,
    AltPattern: lambda p, inside: f"{inside(p.left)} | {inside(p.right)}",
    DominatorPattern: _dominator,
    AttrPattern: lambda p, inside: f"{inside(p.pattern)}.has_attr({p.attrs!r})",
    TypePattern: lambda p, inside: f"{inside(p.pattern)}.has_type({p.type})",
    DataTypePattern: lambda p, inside: f"{inside(p.pattern)}.has_dtype({p.dtype!r})",
    ShapePattern: lambda p, inside: f"{inside(p.pattern)}.has_shape({p.shape!r})",
}
