"""`Events`: the rewrites of one stage as a sequence with a short display."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

from byoc_lab.passes.framework.hook import Event

SHOWN = 12


class Events(Sequence[Event]):
    """Rewrites in order. Its text shows the first ones and the number of the rest;
    `for event in events: print(event)` prints all of them."""

    def __init__(self, events: Iterable[Event] = ()):
        self._events = tuple(events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Events: ...
    def __getitem__(self, index: int | slice) -> Event | Events:
        found = self._events[index]
        return Events(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._events)

    def __str__(self) -> str:
        lines = [str(event) for event in self._events[:SHOWN]]
        if len(self) > SHOWN:
            lines.append(f"... {len(self) - SHOWN} more")
        return "\n".join(lines) or "no events"

    __repr__ = __str__
