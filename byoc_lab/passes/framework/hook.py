"""The one hook through which others hear what passes do, and which passes run.

A listener is set for the duration of a `with listening(...)`; without one, `report` returns at
once, so a pass pays nothing for being observable. The events of a pass are enough to do its work
again (`trace/replay.py`): whatever changed is below the `after` of some event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from byoc_lab.relay.ir.expr import Expr, describe

if TYPE_CHECKING:
    from byoc_lab.passes.framework.passes import Pass
    from byoc_lab.relay.ir.module import IRModule


@dataclass(eq=False)
class Round:
    """One walk over a function: `root` as it was when the walk began, and what was `made` of its
    nodes, those included that only got rewritten parts (so that sharing can be told).
    """

    function: str
    root: Expr
    made: Mapping[Expr, Expr] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Event:
    """One rewrite: in global function `function`, `rule` replaced `before` by `after`.

    before, after: `before` is a node of the round's root; `after` is made of parts that earlier
        events have rewritten. A function that was added has no `before`, one that was removed no
        `after`; where a function was renamed, both are global variables. None of these has a round.
    reason: why, in words.
    """

    rule: str
    reason: str
    before: Expr | None
    after: Expr | None
    function: str
    round: Round | None

    def __str__(self) -> str:
        """The rewrite on one line."""
        sides = [describe(e) for e in (self.before, self.after) if e is not None]
        where = f"@{self.function}: " if self.function else ""
        return f"{where}{self.rule}: {' -> '.join(dict.fromkeys(sides))} ({self.reason})"

    __repr__ = __str__


Listener = Callable[[Event], None]
_listener: ContextVar[Listener | None] = ContextVar("byoc_lab_listener", default=None)
_round: ContextVar[Round | None] = ContextVar("byoc_lab_round", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the events of all passes run inside to `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class StageObserver(Protocol):
    """Is told of every pass that the framework comes to, sequences and the passes inside other
    passes included. It only listens: what runs does not depend on it.
    """

    def begin(self, p: Pass, mod: IRModule) -> None:
        """The framework comes to pass `p` with module `mod`."""

    def end(
        self, p: Pass, after: IRModule | None, error: Exception | None = None, skipped: str = ""
    ) -> None:
        """It leaves the pass that began last. after: the result, None when the pass raised
        `error`. skipped: why the pass did not run, in words."""


_observer: ContextVar[StageObserver | None] = ContextVar("byoc_lab_observer", default=None)


@contextmanager
def observing(observer: StageObserver) -> Iterator[None]:
    """Tell `observer` of the passes that run inside."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def stage_observer() -> StageObserver | None:
    """Who is to be told of passes, if anybody is."""
    return _observer.get()


@contextmanager
def rewriting(root: Expr, function: str | None = None) -> Iterator[None]:
    """What is reported inside is a round of rewriting `root`, of the global `function` (the one
    being rewritten already, when not given).
    """
    outer = _round.get()
    name = function if function is not None else outer.function if outer else ""
    token = _round.set(Round(name, root))
    try:
        yield
    finally:
        _round.reset(token)


def keeps_in(made: Mapping[Expr, Expr]) -> None:
    """Say where the current round keeps what it makes of each node."""
    current = _round.get()
    if current is not None:
        current.made = made


def report(rule: str, reason: str, before: Expr, after: Expr) -> None:
    """Tell the listener, if there is one, of a rewrite."""
    listener = _listener.get()
    if listener is not None:
        current = _round.get()
        name = current.function if current else ""
        listener(Event(rule, reason, before, after, name, current))


def report_function(
    rule: str, reason: str, function: str, before: Expr | None, after: Expr | None
) -> None:
    """Tell the listener of a function that was added, removed or renamed."""
    listener = _listener.get()
    if listener is not None:
        listener(Event(rule, reason, before, after, function, None))
