"""`Diagnosis`: the reason that one call is not offloaded."""

from __future__ import annotations

from dataclasses import dataclass

from byoc_lab.lab.explaining.attempts import Attempt
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.patterns.near_miss import Stop


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The cause that keeps one call from being offloaded. `cause` to `reason` are as in
    `Explanation`.

    subject: the call as it was before matching, or what became of it there.
    """

    cause: str
    reason: str
    subject: Call
    attempt: Attempt | None = None
    expected: str = ""
    found: str = ""
    path: tuple[Expr, ...] = ()
    blocked: Expr | None = None  # the inner value that is used outside, by `user`
    user: Expr | None = None
    unbound: tuple[str, ...] = ()  # names of parameters
    other: str = ""  # the entry, target or pass that is in the way

    @property
    def stop(self) -> Stop | None:
        stops = self.attempt.fit.stops if self.attempt else ()
        return stops[0] if stops else None
