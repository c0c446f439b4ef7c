"""`Events` and `Notes`: the reports of a pass, as sequences with a short display."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

from byoc_lab.display import VIEW
from byoc_lab.passes.framework.hook import Event, Note
from byoc_lab.printing import printable

SHOWN = 12
T = TypeVar("T", Event, Note)
Self = TypeVar("Self", bound="_Reports[Any]")


class _Reports(Sequence[T], Generic[T]):
    """Reports in order. The text shows the first reports and the number of the others; `for event
    in events: print(event)` prints all."""

    nothing: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return VIEW().mimebundle(self)

    def __init__(self, reports: Iterable[T] = ()):
        self._reports: tuple[T, ...] = tuple(reports)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self: Self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> object:
        found = self._reports[index]
        return type(self)(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._reports)

    def __iter__(self) -> Iterator[T]:
        return iter(self._reports)

    @printable
    def __str__(self) -> str:
        lines = [str(report) for report in self._reports[:SHOWN]]
        if len(self) > SHOWN:
            lines.append(f"... {len(self) - SHOWN} more")
        return "\n".join(lines) or self.nothing

    __repr__ = __str__


class Events(_Reports[Event]):
    """The rewrites of a stage."""

    nothing = "no events"


class Notes(_Reports[Note]):
    """Decisions of a pass not to rewrite: refusals, and merges that it did not make."""

    nothing = "no notes"
