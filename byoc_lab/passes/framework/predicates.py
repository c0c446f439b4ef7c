"""Calls functions of back ends: checks of patterns, predicates of operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from byoc_lab.errors import ByocLabError, PassError, PredicateError, enumerated
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, describe
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.relay.patterns import DFPattern, ExprPattern
from byoc_lab.relay.patterns.matcher import COMMUTATIVE
from byoc_lab.relay.typing.infer import infer_expr

Answer = TypeVar("Answer")
MAX_LEVELS = 4
"""The number of levels of a match that are searched for operators whose operands match in either
order."""
Checked = tuple[str, DFPattern, "Callable[[Expr], bool] | None"]


@dataclass(frozen=True)
class Refused:
    """A negative result of a predicate, with the reason in words. Its truth value is False."""

    reason: str

    def __bool__(self) -> bool:
        return False


def refusal(who: str, expr: Expr, answer: object) -> str:
    """A refusal in words. who: the back end or check that returned `answer` for `expr`."""
    asked = _operator(expr)
    if isinstance(answer, Refused) and answer.reason:
        return f"{who} refuses {asked}: {answer.reason}"
    return (
        f"{who} refuses {asked} without a reason{_changed_attributes(expr)}: it returned "
        f"{answer!r:.40}, not Refused('...')"
    )


def _operator(expr: Expr) -> str:
    return expr.op_name if isinstance(expr, Call) and expr.op_name else describe(expr)


def _changed_attributes(expr: Expr) -> str:
    """The attributes of a call that differ from their defaults, which often cause a refusal."""
    attrs = expr.attrs if isinstance(expr, Call) else None
    if not isinstance(attrs, Attrs) or attrs.schema is None:
        return ""
    changed = [
        f"{a.name}={attrs[a.name]!r:.40}" for a in attrs.schema.fields if attrs[a.name] != a.default
    ]
    return f" ({', '.join(changed)})" if changed else ""


def ask(predicate: Callable[[Any], Answer], expr: Expr, who: str) -> Answer:
    """The result of `predicate` for `expr`. who: its name for messages.

    Raises PredicateError if it raises, or returns a value without truth value, or a text (which
    would be true).
    """
    try:
        answer = predicate(expr)
    except Exception as error:
        raise PredicateError(
            f"{who} raised {type(error).__name__}: {error}. It was asked about {_shown(expr)}; "
            f"return False for what is not supported, and True for what is"
        ) from error
    if isinstance(answer, str):
        raise PredicateError(
            f"{who} returned a text, {answer!r:.80}. It was asked about {_shown(expr)}; return "
            f"True, or False, or Refused({answer!r:.80})"
        )
    answers = _collector.get()
    try:
        if answers is None:
            bool(answer)
        else:
            answers.add(predicate, expr, who, answer)
    except Exception as error:
        raise PredicateError(
            f"{who} returned {answer!r:.80}, which is neither true nor false ({error}). It was "
            f"asked about {_shown(expr)}; return True, or False, or Refused('why')"
        ) from error
    return answer


def odd_answer(answer: object) -> str:
    """A remark on a result that is true but probably not intended to be; empty for a bool, a
    `Refused`, and any false value."""
    if isinstance(answer, (bool, np.bool_, Refused)) or not answer:
        return ""
    return (
        f"answered {_described(answer)}, which is neither a bool nor a Refused and counts as True"
    )


def _described(answer: object) -> str:
    if isinstance(answer, Constant) and not answer.data.shape:
        return f"relay.const({answer.numpy()})"
    return describe(answer) if isinstance(answer, Expr) else f"{answer!r:.60}"


@dataclass
class Answers:
    """The answers of checks and predicates to some questions.

    odd: remarks on the odd ones. changing: the checks and predicates with a different result when
    called again. changes: descriptions of these differences.
    """

    odd: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    changing: list[Callable[[Any], Any]] = field(default_factory=list)
    _given: list[tuple[Callable[[Any], Any], Expr, str, bool]] = field(default_factory=list)

    def add(self, predicate: Callable[[Any], Any], expr: Expr, who: str, answer: object) -> None:
        odd = odd_answer(answer)
        if odd:
            self.odd.append(f"{who} {odd}")
        self._given.append((predicate, expr, who, bool(answer)))

    def ask_again(self) -> None:
        """Ask every question once more."""
        for predicate, expr, who, answer in self._given:
            if not any(predicate is p for p in self.changing):
                change = changed_answer(predicate, expr, answer)
                if change:
                    self.changing.append(predicate)
                    self.changes.append(f"{who} {change}")
        self._given.clear()


def changed_answer(predicate: Callable[[Any], Any], expr: Expr, answer: bool) -> str:
    """Calls a check or predicate again; describes the result, or returns "" if it is the same as
    before."""
    try:
        again: object = bool(predicate(expr))
    except Exception as error:
        again = f"{type(error).__name__}: {error}"
    if again is answer:
        return ""
    return (
        f"answered {answer} about {_operator(expr)}, and {again} when it was asked again about the "
        f"same, so that each run may offload something else"
    )


_collector: ContextVar[Answers | None] = ContextVar("answers", default=None)


@contextmanager
def collected_answers(again: bool = True) -> Iterator[Answers]:
    """Collect the answers to all questions inside, each of which is asked again at the end unless
    `again` is false."""
    answers = Answers()
    token = _collector.set(answers)
    try:
        yield answers
    finally:
        _collector.reset(token)
    if again:
        answers.ask_again()


def ask_check(check: Callable[[Any], Answer], expr: Expr, pattern: str) -> Answer:
    """The result of a pattern's check for a match."""
    who = f"{_whose(pattern)}: the check of the pattern {pattern!r}"
    return _ask(check, expr, who, _why_a_check_raises)


def ask_operator(predicate: Callable[[Any], Answer], call: Call, back_end: str) -> Answer:
    """The result of a back end's predicate for a call of an operator."""
    who = f"back end {back_end!r}: the predicate of {_operator(call)}"
    return _ask(predicate, call, who, _why_a_predicate_raises)


def _ask(
    predicate: Callable[[Any], Answer],
    expr: Expr,
    who: str,
    cause: Callable[[Callable[[Any], Answer], Expr, str], str],
) -> Answer:
    """As `ask`; the error of a predicate that raises ends with its cause in words, if known."""
    try:
        return ask(predicate, expr, who)
    except PredicateError as error:
        why = cause(predicate, expr, who)
        if not why:
            raise
        raise PredicateError(f"{error}. {why}") from error.__cause__


def _met_composite(
    predicate: Callable[[Any], Answer], expr: Expr, who: str, words: tuple[str, str]
) -> str:
    """A sentence about composites among the operands, if the predicate does not raise for their
    operators; else empty."""
    composites = sorted({str(n.op.attrs["Composite"]) for n in _composites(expr)})
    if not composites or not _answers(predicate, _inlined(expr), who):
        return ""
    operand, asked = words
    return (
        f"{operand} is a composite of {enumerated(map(repr, composites))}, {asked} answers, and "
        f"about a call of the composite it raises. The op of such a call is a Function, not an Op: "
        f"use call.op_name, or ask isinstance(call.op, Op)"
    )


def _why_a_predicate_raises(predicate: Callable[[Any], Answer], expr: Expr, who: str) -> str:
    """The cause in words, if the predicate does not raise for the call without that cause; else
    empty."""
    made = "which MergeComposite made: about its operators the predicate"
    return _met_composite(predicate, expr, who, ("An operand", made))


def _why_a_check_raises(check: Callable[[Any], Answer], expr: Expr, who: str) -> str:
    """The cause in words, if the check does not raise for the match without that cause; else
    empty."""
    earlier = "an earlier entry of the table: about its operators the check"
    met = _met_composite(check, expr, who, ("An operand of the match", earlier))
    if met:
        return met
    if any(_answers(check, swapped, who) for swapped in _in_other_order(expr)):
        return (
            "A pattern takes the operands of add and multiply in either order: the check "
            "must look for its operand on both sides"
        )
    return ""


def _answers(check: Callable[[Any], Answer], expr: Expr, who: str) -> bool:
    try:
        ask(check, infer_expr(expr), who)
    except ByocLabError:
        return False
    return True


def _composites(expr: Expr) -> list[Any]:
    """The calls of composite functions that an expression has."""
    calls = (n for n in post_order(expr) if isinstance(n, Call) and isinstance(n.op, Function))
    return [c for c in calls if isinstance(c.op, Function) and "Composite" in c.op.attrs]


def _inlined(expr: Expr) -> Expr:
    """An expression with its composite functions inlined."""
    composites = set(_composites(expr))

    def inline(pre: Any, post: Any) -> Any:
        if pre not in composites:
            return post
        values = dict(zip(post.op.params, post.args, strict=True))
        return rebuild(post.op.body, lambda _, new: new, memo=values)

    return rebuild(expr, inline)  # type: ignore[no-any-return]


def _in_other_order(expr: Expr) -> Iterator[Expr]:
    """Variants of an expression: for each add or multiply near its root, one variant with the
    operands of that call swapped."""
    level = [expr]
    for _ in range(MAX_LEVELS):
        calls = [e for e in level if isinstance(e, Call)]
        for call in calls:
            if call.op_name in COMMUTATIVE:
                yield rebuild(expr, partial(_swap, call))
        level = [a for c in calls for a in c.args]


def _swap(call: Call, pre: Any, post: Any) -> Any:
    return Call(post.op, post.args[::-1], post.attrs, span=post.span) if pre is call else post


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
    if isinstance(pattern, ExprPattern) and isinstance(pattern.expr, Op):
        raise PassError(
            f"entry {position} of the pattern table must have the pattern of a call: {name!r} has "
            f"that of the operator {pattern.expr.name} alone; write "
            f"is_op({pattern.expr.name!r})(wildcard(), ...) with a pattern for each operand"
        )
    if check is not None and not callable(check):
        raise PassError(
            f"entry {position} of the pattern table must be (name, pattern, check): the check of "
            f"{name!r} must be a function of the matched expression, found "
            f"{type(check).__name__} {check!r:.80}"
        )
    return name, pattern, check


def labels(table: Sequence[tuple[Any, ...]]) -> list[str]:
    """The names of the entries of a table, with the position if several entries have the same
    name."""
    count = Counter(entry[0] for entry in table)
    names = (entry[0] for entry in table)
    return [m if count[m] == 1 else f"{m} (entry {n})" for n, m in enumerate(names)]


def _whose(pattern: str) -> str:
    back_end, dot, _ = pattern.partition(".")
    return f"back end {back_end!r}" if dot else "a pattern table"


def _shown(expr: Expr) -> str:
    place = f" at {expr.span}" if expr.span else ""
    typed = f" of type {expr.checked_type}" if expr.is_typed else ""
    return f"{describe(expr)}{typed}{place}"
