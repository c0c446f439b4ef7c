"""`PatternReport`: the result of `explain_patterns` for each entry of a pattern table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from byoc_lab.display import text_in_full
from byoc_lab.errors import UnknownNameError, nearest
from byoc_lab.lab.explaining.diagnosis import Nearest
from byoc_lab.markup import table
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Expr


@dataclass(frozen=True, eq=False)
class EntryReport:
    """One entry of a pattern table, over some modules.

    status: "matches"; "shadowed" (it would match, but earlier entries take the nodes); "refused"
    (it would match, but its check refuses); "used outside" (it would match, but a value inside has
    users outside); "never" (nothing in these modules matches); "impossible" (it cannot match in any
    module). matches: the number of its composites. alone: the number of matches as the only entry.
    shadowed_by: the entries that took the nodes. witness: a node of a module: the root of a
    composite, or of the best partial match; place: the witness in words, with its name in the text
    of its module; module: the position of that module.
    """

    position: int
    name: str
    status: str
    reason: str
    matches: int = 0
    alone: int = 0
    shadowed_by: tuple[str, ...] = ()
    witness: Expr | None = field(default=None, repr=False)
    place: str = ""
    module: int | None = None
    nearest: Nearest | None = None

    @printable
    def __str__(self) -> str:
        where = ""
        if self.witness is not None:
            span = f" at {self.witness.span}" if self.witness.span else ""
            where = f"; see {self.place}{span} in module {self.module}"
        return f"{self.name}: {self.reason}{where}"


class PatternReport(Sequence[EntryReport]):
    """A report of each entry of a pattern table, in its order; displays itself as a table."""

    def __init__(self, entries: Sequence[EntryReport]):
        self._entries = list(entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[EntryReport]:
        return iter(self._entries)

    @overload
    def __getitem__(self, index: int | str) -> EntryReport: ...
    @overload
    def __getitem__(self, index: slice) -> list[EntryReport]: ...
    def __getitem__(self, index: int | slice | str) -> EntryReport | list[EntryReport]:
        """An entry by position, or the first one with a name."""
        if isinstance(index, (int, slice)):
            return self._entries[index]
        for entry in self._entries:
            if entry.name == index:
                return entry
        names = [e.name for e in self._entries]
        raise UnknownNameError(f"the table has no entry {index!r}; {nearest(index, names)}")

    def by_status(self, status: str) -> list[EntryReport]:
        """The entries with a status."""
        return [e for e in self._entries if e.status == status]

    @printable
    def __str__(self) -> str:
        width = max((len(e.status) for e in self._entries), default=0)
        return "\n".join(f"{e.status:{width}}  {e}" for e in self._entries) or "an empty table"

    def __repr__(self) -> str:
        return f"<PatternReport: {len(self)} entries, {len(self.by_status('matches'))} match>"

    _repr_pretty_ = text_in_full

    def _repr_html_(self) -> str:
        rows = [(e.name, e.status, e.matches, e.reason) for e in self._entries]
        return table(("entry", "status", "matches", "why"), rows, numbers=(2,))
