"""The hook through which passes report their changes.

`with listening(...)` sets a listener. Without one, `report` and `note` return at once, so
observability costs nothing. The events of a pass are complete: every change is below the `after` of
some event. They also determine the origin of each node of the result.
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
    """One traversal that rewrites a function.

    root: the function before the traversal. made: for each node below `root`, its replacement,
    including nodes that only have rewritten parts. copies: for nodes that were copied elsewhere
    (such as the body of an inlined function), the copy. numbering: computes the numbers of the
    root's regions if they depend on earlier stages, as in a trace.
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
    """A reason that names regions. Its text contains their numbers, which may be determined later,
    by a trace.

    parts: pieces of text, and in place of each region its first `compiler_begin` (a node of the
    round's root).
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

    If a pass preserves values, each event replaces a value by an equal one; changes that preserve
    values only together form one event.

    before, after: `before` is a node of the round's root; `after` consists of parts that earlier
        events have rewritten. For an added function, `before` is None; for a removed function,
        `after` is None; for a renamed function, both are global variables. These events have no
        round.
    told: the reason; `reason` is its text.
    sources: the nodes of the round's root that new nodes below `after` come from; None for `before`
        and the operands that it was computed with.
    bound: nodes of the round's root by name, such as the node that each sub-pattern matched.
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
    """A decision of a pass without a rewrite: a refusal, or a merge that was not possible.

    rule: a name for the decision. node: the expression that it concerns. told: the reason; `reason`
    is its text.
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
    """Send the events and notes of all passes that run inside the context to `listener`."""
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
    """A context for rewrites of an expression outside the function that the pass rewrites: they are
    not reported."""
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
