"""`expectation`: the expressions that a pattern accepts, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from byoc_lab.relay.ir.expr import Constant, Expr, Op, describe
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.relay.patterns.below import called_operators, remembered
from byoc_lab.relay.patterns.foreign import AndPattern, ForeignPattern, NotPattern
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
    VarPattern,
    WildcardPattern,
)
from byoc_lab.relay.patterns.text import short_text

NAMES = re.compile(r"[\w.]+((, | or )[\w.]+)*")
"""Matches a list of operator names in words."""


@remembered
def expectation(pattern: DFPattern) -> str:
    """Describe in words the expressions that a pattern accepts at its root."""
    if isinstance(pattern, AttrPattern):
        wanted = ", ".join(f"{k}={v!r}" for k, v in pattern.attrs.items())
        return f"{expectation(pattern.pattern)} with {wanted}"
    if isinstance(pattern, DataTypePattern):
        return f"{expectation(pattern.pattern)} of dtype {pattern.dtype}"
    if isinstance(pattern, ShapePattern):
        return f"{expectation(pattern.pattern)} of shape {pattern.shape}"
    if isinstance(pattern, TypePattern):
        return f"{expectation(pattern.pattern)} of type {pattern.type}"
    if isinstance(pattern, AltPattern):
        return listed((expectation(pattern.left), expectation(pattern.right)))
    if isinstance(pattern, ConstantPattern):
        return "a constant"
    if isinstance(pattern, VarPattern):
        return f"the variable %{pattern.name}" if pattern.name else "a variable"
    if isinstance(pattern, ExprPattern) and not isinstance(pattern.expr, Op):
        return _expression(pattern.expr)
    if isinstance(pattern, TuplePattern):
        return "a tuple" if pattern.fields is None else f"a tuple of {len(pattern.fields)}"
    if isinstance(pattern, TupleGetItemPattern):
        which = "any field" if pattern.index is None else f"field {pattern.index}"
        return f"{which} of {expectation(pattern.tuple)}"
    if isinstance(pattern, WildcardPattern):
        return expectation(pattern.pattern) if pattern.pattern else "anything"
    if isinstance(pattern, DominatorPattern):
        child, path, parent = map(expectation, (pattern.child, pattern.path, pattern.parent))
        return (
            f"{child} whose operands all come from one {parent} over {path} alone "
            f"(used nowhere else)"
        )
    if isinstance(pattern, CallPattern):
        return callee_in_words(pattern)
    if isinstance(pattern, AndPattern):
        return " and ".join(map(expectation, pattern.children()))
    if isinstance(pattern, NotPattern):
        return f"anything but {expectation(pattern.reject)}"
    if isinstance(pattern, ForeignPattern):
        return pattern.words
    return short_text(pattern) or "another expression"


def _expression(wanted: Expr) -> str:
    """The description of an expression that a pattern contains literally; for a constant, also its
    values must match."""
    if not isinstance(wanted, Constant):
        return describe(wanted)
    if wanted.data.shape:
        return f"{describe(wanted)} with the values in the pattern"
    return f"constant {wanted.data.view():.7g} of dtype {wanted.data.dtype}"


def listed(words: Iterable[str]) -> str:
    """Alternatives in words, such as "nn.conv1d, nn.conv2d or nn.dense"; each of them may itself be
    such a list."""
    parts = (re.split(", | or ", w) if NAMES.fullmatch(w) else [w] for w in words)
    different = list(dict.fromkeys(w for part in parts for w in part))
    if len(different) < 2:
        return "".join(different)
    return f"{', '.join(different[:-1])} or {different[-1]}"


def callee_in_words(pattern: CallPattern) -> str:
    """The operators that a call pattern accepts, such as "add or nn.bias_add"."""
    names = called_operators(pattern)
    if names is None:
        return "a call of any operator"
    return listed(sorted(names)) or "a call of something other than an operator"
