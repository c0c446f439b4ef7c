"""`Diagnosis`: the reason that one call is not offloaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from byoc_lab.lab.explaining.attempts import Attempt
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.patterns.partial_match import Mismatch, PartialMatch

CHANGES = "answers otherwise when it is asked again about the same"


class Nearest:
    """The pattern that came nearest: `matched` of its `total` parts match."""

    def __init__(self, name: str, fit: PartialMatch):
        self.name, self.matched, self.total = name, fit.matched, fit.needed

    @printable
    def __str__(self) -> str:
        return f"{self.name} ({self.matched} of {self.total} parts match)"

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The cause that keeps one call from being offloaded. `cause` to `reason` are as in
    `Explanation`.

    subject: the call before matching, or the call into which it was rewritten by then.
    """

    cause: str
    reason: str
    subject: Any
    attempt: Attempt | None = None
    expected: str = ""
    found: str = ""
    path: tuple[Expr, ...] = ()
    blocked: Expr | None = None  # the value inside the match that `user`, outside, uses
    user: Expr | None = None
    unbound: tuple[str, ...] = ()  # names of parameters
    other: str = ""  # the entry, target or pass that prevents the offload
    # a check or predicate answers differently each time, so no trial counts
    by_chance: bool = False

    @property
    def stop(self) -> Mismatch | None:
        stops = self.attempt.fit.stops if self.attempt else ()
        return stops[0] if stops else None

    @property
    def nearest(self) -> Nearest | None:
        return Nearest(self.attempt.name, self.attempt.fit) if self.attempt else None
