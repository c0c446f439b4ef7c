"""Asking the functions of back ends: the checks of patterns, and the predicates of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from byoc_lab.errors import PassError, PredicateError
from byoc_lab.relay.ir.expr import Call, Expr, describe
from byoc_lab.relay.patterns import DFPattern

Answer = TypeVar("Answer")
Checked = tuple[str, DFPattern, "Callable[[Expr], bool] | None"]


def ask(predicate: Callable[[Any], Answer], expr: Expr, who: str) -> Answer:
    """What `predicate` says of `expr`. who: the predicate in words, for the PredicateError that is
    raised when it raises.
    """
    try:
        return predicate(expr)
    except Exception as error:
        raise PredicateError(
            f"{who} raised {type(error).__name__}: {error}. It was asked about {_shown(expr)}; "
            f"return False for what is not supported, and True for what is"
        ) from error


def ask_check(check: Callable[[Any], Answer], expr: Expr, pattern: str) -> Answer:
    """What the check of a pattern says of a match."""
    return ask(check, expr, f"{_whose(pattern)}: the check of the pattern {pattern!r}")


def ask_operator(predicate: Callable[[Any], Answer], call: Call, back_end: str) -> Answer:
    """What the predicate of a back end says of a call of an operator."""
    name = getattr(call.op, "name", "a function")
    return ask(predicate, call, f"back end {back_end!r}: the predicate of {name}")


def checked_entry(position: int, entry: Any) -> Checked:
    """The name, pattern and check of an entry of a pattern table. Raises PassError."""
    if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
        raise PassError(
            f"entry {position} of the pattern table must be (name, pattern) or (name, pattern, "
            f"check), found {entry!r:.200}"
        )
    name, pattern, check = (*entry, None)[:3]
    if not isinstance(name, str):
        raise PassError(
            f"entry {position} of the pattern table must begin with the pattern's name, a str, "
            f"found {type(name).__name__} {name!r:.80}: it must be (name, pattern) or (name, "
            f"pattern, check)"
        )
    if not isinstance(pattern, DFPattern):
        hint = f"is_op({pattern!r})(wildcard(), ...)" if isinstance(pattern, str) else "is_op(...)"
        raise PassError(
            f"entry {position} of the pattern table must be (name, pattern) or (name, pattern, "
            f"check): {name!r} needs a pattern, found {type(pattern).__name__} {pattern!r:.80}; "
            f"write one like {hint}, from byoc_lab.relay.patterns"
        )
    if check is not None and not callable(check):
        raise PassError(
            f"entry {position} of the pattern table must be (name, pattern, check): the check of "
            f"{name!r} must be a function of the matched expression, found "
            f"{type(check).__name__} {check!r:.80}"
        )
    return name, pattern, check


def _whose(pattern: str) -> str:
    back_end, dot, _ = pattern.partition(".")
    return f"back end {back_end!r}" if dot else "a pattern table"


def _shown(expr: Expr) -> str:
    place = f" at {expr.span}" if expr.span else ""
    typed = f" of type {expr.checked_type}" if expr.is_typed else ""
    return f"{describe(expr)}{typed}{place}"
