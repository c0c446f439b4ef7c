"""The nodes that a trace refers to, for pickling it.

Stages share nearly all of their nodes; `relay.ir.pickling` writes each node once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from byoc_lab.lab.tracing.events import Events, Notes
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.pickling import roots_of


class Recorded(Protocol):
    """The node-holding part of a stage."""

    before: IRModule
    after: IRModule | None
    events: Events
    notes: Notes
    error: Exception | None

    @property
    def nested(self) -> Sequence[Recorded]: ...


def with_nested(stages: Sequence[Recorded]) -> Iterator[Recorded]:
    """The stages, and all stages inside them."""
    left = list(reversed(stages))
    while left:
        stage = left.pop()
        yield stage
        left += reversed(stage.nested)


def roots(stages: Sequence[Recorded]) -> Iterator[Expr]:
    """Expressions from which all nodes that the stages hold can be reached."""
    for stage in with_nested(stages):
        for mod in (stage.before, stage.after):
            if mod is not None:
                yield from roots_of(mod)
        rounds = {event.round for event in stage.events if event.round is not None}
        for event in stage.events:
            yield from (e for e in (event.before, event.after) if e is not None)
            yield from (event.sources or ())
            yield from event.bound.values()
        for found in rounds:
            yield found.root
            for nodes in (found.made, *found.copies):
                yield from (e for pair in nodes.items() for e in pair if isinstance(e, Expr))
        yield from (note.node for note in stage.notes)
        node = getattr(stage.error, "node", None)
        if isinstance(node, Expr):
            yield node
