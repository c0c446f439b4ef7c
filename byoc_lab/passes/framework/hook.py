"""The hook by which passes report their changes.

`with listening(...)` sets a listener. Without one, `report` and `note` return at once, so a pass
pays nothing for being observable. The events of a pass suffice to repeat its work: every change is
below the `after` of some event. They also tell where each node of the result comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property

from byoc_lab.printing import printable
from byoc_lab.relay.analysis.region_numbers import Numbers, region_numbers
from byoc_lab.relay.ir.expr import Expr, describe


@dataclass(eq=False)
class Round:
    """One walk over a function.

    root: the function when the walk began. made: for each node below `root`, what the walk made of
    it, nodes with rewritten parts included. copies: for nodes that were copied to another place
    (the body of a function that is inlined, say), the copy. numbering: computes the numbers of the
    root's regions where it has a past, as in a trace.
    """

    function: str
    root: Expr
    made: Mapping[Expr, Expr] = field(default_factory=dict, repr=False)
    copies: list[Mapping[Expr, Expr]] = field(default_factory=list, repr=False)
    numbering: Callable[[], Numbers] | None = field(default=None, repr=False)

    @property
    def numbers(self) -> Numbers:
        """The numbers of the regions of `root`, by begin."""
        return self._own_numbers if self.numbering is None else self.numbering()

    @cached_property
    def _own_numbers(self) -> Numbers:
        return region_numbers(self.root)


@dataclass(frozen=True, eq=False)
class Sentence:
    """A reason that names regions. Its text has their numbers, which a trace knows later.

    parts: text, and for each region that it names its first begin, a node of the round's root.
    """

    parts: tuple[str | Expr, ...]
    round: Round

    @printable
    def __str__(self) -> str:
        numbers = self.round.numbers
        return "".join(p if isinstance(p, str) else f"region {numbers[p]}" for p in self.parts)


@dataclass(frozen=True, eq=False, repr=False)
class Event:
    """One rewrite: in global function `function`, `rule` replaced `before` by `after`.

    A rewrite by a pass that preserves values replaces a value by an equal one: what keeps the
    values only together is one event.

    before, after: `before` is a node of the round's root; `after` consists of parts that earlier
        events have rewritten. A function that was added has no `before`, one that was removed no
        `after`; where a function was renamed, both are global variables. None of these has a round.
    told: why, in words; `reason` is its text.
    sources: the nodes of the round's root that new nodes below `after` come from; None for `before`
        and the operands that it was computed with.
    bound: nodes of the round's root by name: what each sub-pattern matched, for example.
    """

    rule: str
    told: str | Sentence
    before: Expr | None
    after: Expr | None
    function: str
    round: Round | None
    sources: tuple[Expr, ...] | None = None
    bound: Mapping[str, Expr] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Why, in words."""
        return str(self.told)

    @printable
    def __str__(self) -> str:
        """The rewrite on one line."""
        sides = [describe(e) for e in (self.before, self.after) if e is not None]
        where = f"@{self.function}: " if self.function else ""
        return f"{where}{self.rule}: {' -> '.join(dict.fromkeys(sides))} ({self.reason})"

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class Note:
    """A decision of a pass without a rewrite: a refusal, or a merge that it did not make.

    rule: what was decided. node: the expression in question. told: why, in words; `reason` is its
    text.
    """

    rule: str
    told: str | Sentence
    node: Expr
    function: str

    @property
    def reason(self) -> str:
        """Why, in words."""
        return str(self.told)

    @printable
    def __str__(self) -> str:
        where = f"@{self.function}: " if self.function else ""
        return f"{where}{self.rule}: {describe(self.node)} ({self.reason})"

    __repr__ = __str__


Listener = Callable[["Event | Note"], None]
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


@contextmanager
def rewriting(root: Expr, function: str | None = None) -> Iterator[None]:
    """A context in which events belong to a rewrite of `root` in the global `function`; by default
    in the function that is already being rewritten."""
    outer = _round.get()
    name = function if function is not None else outer.function if outer else ""
    token = _round.set(Round(name, root))
    try:
        yield
    finally:
        _round.reset(token)


@contextmanager
def unheard() -> Iterator[None]:
    """A context for rewrites of an expression that is no part of the function that a pass rewrites:
    they are not reported."""
    listener, current = _listener.set(None), _round.set(None)
    try:
        yield
    finally:
        _round.reset(current)
        _listener.reset(listener)


def is_heard() -> bool:
    """Whether a listener is attached; if not, data for reports need not be computed."""
    return _listener.get() is not None


def keeps_in(made: Mapping[Expr, Expr]) -> None:
    """Set where the current round stores its replacement of each node."""
    current = _round.get()
    if current is not None:
        current.made = made


def copies_in(copies: Mapping[Expr, Expr]) -> None:
    """Report the nodes that the current round copied to another place, and their copies."""
    current = _round.get()
    if current is not None and _listener.get() is not None:
        current.copies.append(copies)


def naming_regions(*parts: str | Expr) -> Sentence:
    """A reason of the current round that names regions; `Sentence` explains the parts."""
    current = _round.get()
    assert current is not None
    return Sentence(parts, current)


def report(
    rule: str,
    reason: str | Sentence,
    before: Expr,
    after: Expr,
    *,
    sources: Sequence[Expr] | None = None,
    bound: Mapping[str, Expr] | None = None,
) -> None:
    """Report a rewrite to the listener, if there is one; `Event` explains the arguments."""
    listener = _listener.get()
    if listener is not None:
        current = _round.get()
        name = current.function if current else ""
        given = tuple(sources) if sources is not None else None
        listener(Event(rule, reason, before, after, name, current, given, bound or {}))


def note(rule: str, reason: str | Sentence, node: Expr) -> None:
    """Report a decision without a rewrite to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        current = _round.get()
        listener(Note(rule, reason, node, current.function if current else ""))


def report_function(
    rule: str,
    reason: str | Sentence,
    function: str,
    before: Expr | None,
    after: Expr | None,
    *,
    sources: Sequence[Expr] = (),
) -> None:
    """Report that a function was added, removed or renamed.

    sources: the nodes that new nodes of an added function come from.
    """
    listener = _listener.get()
    if listener is not None:
        listener(Event(rule, reason, before, after, function, None, tuple(sources)))
