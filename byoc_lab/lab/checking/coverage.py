"""`Coverage`: the result of `coverage`, as text, as tables, as a figure and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from byoc_lab.backends.registry import stand_in_of
from byoc_lab.display import VIEW, text_in_full
from byoc_lab.errors import counted
from byoc_lab.lab.checking.coverage_changes import CoverageChange, Work, effective_changes
from byoc_lab.lab.explaining.answer import Answer
from byoc_lab.lab.explaining.cards import Card, warnings_of
from byoc_lab.lab.explaining.explanations import Explanations
from byoc_lab.markup import escaped, table
from byoc_lab.output import to_json
from byoc_lab.printing import columns, percent, printable
from byoc_lab.run.symbols import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHY_TOTALS_DIFFER = (
    "Totals differ because each back end has its own passes before partitioning, and operators and "
    "FLOP are counted after them."
)
NOTHING = "  no tried change alters the totals"
HOST_HEAD = ("not offloaded", "cause", "calls", "FLOP before the passes", "operators", "reason")
SHOWN = 20
"""Rows of a table in a text; JSON has all."""


@dataclass(frozen=True)
class RegionSize:
    """A region. operators, flops, bytes: the operators, the floating-point operations and the bytes
    across its boundary in one call of it; None if a shape is unknown. warning: the warning on its
    card; "" if there is no card."""

    symbol: str
    operators: int
    flops: int | None
    bytes: int | None
    warning: str = ""


@dataclass(frozen=True)
class HostGroup:
    """Calls of the given module that are not offloaded to the back end, for one reason: a group of
    `explain`.

    cause: the kind of the reason. calls: the number of calls. flops: the sum for the calls whose
    cost is known. names: the number of calls by operator. reason: the reason for the first call;
    for the other calls it differs at most in names and types. unknown: the number of calls whose
    cost is not known. place: "on the host", or "by" another back end.
    """

    cause: str
    calls: int
    flops: int
    names: dict[str, int]
    reason: str
    unknown: int = 0
    place: str = "on the host"

    @property
    def work(self) -> str:
        """The floating-point operations in words, such as "1,024 + unknown"."""
        known = [f"{self.flops:,}"] if self.unknown < self.calls else []
        return " + ".join([*known, *["unknown"] * (self.unknown > 0)])

    @printable
    def __str__(self) -> str:
        return (
            f"{self.cause}: {counted(self.calls, 'call')} ({_named(self.names)}), "
            f"{self.work} FLOP before the passes; {self.reason}"
        )


class Coverage:
    """The share of a module that a back end computes; displays itself as a table.

    backend: its name. totals: of the partitioned module, after the passes that precede
    partitioning. regions: in the order of the module. result: the partitioned module. assumed: in
    words, the sizes that FLOP and bytes assume for unknown dimensions; "" if all are known.

    explained, attempts: functions that compute the explanations of the calls of the module, and the
    changes to try; called on first access.
    """

    def __init__(
        self,
        backend: str,
        work: Work,
        result: Any,
        explained: Callable[[], Explanations[Any]],
        attempts: Callable[[], Iterable[CoverageChange]],
        assumed: str = "",
    ):
        self.backend, self.totals, self.result, self.assumed = backend, work.totals, result, assumed
        self.repeated = work.repeated
        self.regions = tuple(
            RegionSize(r.symbol, r.cost.calls, None if r.cost.unknown else r.cost.flops, r.bytes)
            for r in work.regions
        )
        self._explained, self._attempts = explained, attempts

    @cached_property
    def host(self) -> tuple[HostGroup, ...]:
        """The calls that are not offloaded to the back end, grouped by the reason that `explain`
        finds and by the place of their computation: the most work first."""
        found = [
            _group(place, [e for e in es if e.elsewhere == place])
            for es in self._explained().groups
            for place in dict.fromkeys(e.elsewhere for e in es)
        ]
        return tuple(sorted(found, key=lambda g: (-g.flops, -g.calls)))

    @cached_property
    def changes(self) -> tuple[CoverageChange, ...]:
        """The changes of region sizes, pattern order and pass order that change the totals, the
        most work offloaded first. Each is tried in a separate run."""
        return effective_changes(self._attempts(), self.totals)

    @property
    def tried(self) -> tuple[CoverageChange, ...] | None:
        """`changes` if they have been computed, else None."""
        return self.__dict__.get("changes")

    def with_cards(self, cards: Sequence[Card]) -> Coverage:
        """A copy with the measurements from the cards of an executable. Raises ArgumentError for
        anything other than cards."""
        said = warnings_of(cards, self.backend, "coverage")
        found = copy(self)
        found.regions = tuple(replace(r, warning=said.get(r.symbol, "")) for r in self.regions)
        return found

    @property
    def warnings(self) -> list[str]:
        """The regions that the host would probably compute faster, according to their cards."""
        return [f"@{shown(r.symbol)}: {r.warning}" for r in self.regions if r.warning]

    @property
    def heading(self) -> str:
        """The back end and its totals; the assumed sizes; the functions with several calls, whose
        work counts once; and whether NumPy computes the regions here."""
        missing = stand_in_of(self.backend)
        here = "" if missing is None else f"; regions are {missing}"
        sizes = f"; FLOP and bytes are for {self.assumed}" if self.assumed else ""
        once = "; counted once, although called several times: "
        once += ", ".join(f"@{shown(name)}" for name in self.repeated)
        return f"{self.backend}: {self.totals}{sizes}{once * bool(self.repeated)}{here}"

    @printable
    def __str__(self) -> str:
        lines = [self.heading]
        lines += [
            f"  @{shown(r.symbol)}: {counted(r.operators, 'operator')}, {_count(r.flops)} FLOP, "
            f"{_count(r.bytes)} bytes in and out"
            for r in sorted(self.regions, key=lambda r: -(r.flops or 0))[:SHOWN]
        ]
        lines += _rest(len(self.regions), "regions, with less work")
        lines += [f"  {warning}" for warning in self.warnings]
        lines += [f"  {group.place}, {group}" for group in self.host[:SHOWN]]
        lines += _rest(len(self.host), "groups of calls outside of the regions, with less work")
        if self.tried is not None:
            found = [f"    {c}" for c in self.tried]
            lines += ["  with a change that was tried", *found] if found else [NOTHING]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Coverage by {self.backend}: {self.totals}>"

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data; the changes only if they have been computed, else None."""
        tried = [
            {"change": c.what, "totals": c.totals and c.totals.as_dict(), "error": c.error}
            for c in self.tried or ()
        ]
        return {
            "backend": self.backend,
            "stand_in": stand_in_of(self.backend),
            "assumed": self.assumed,
            "totals": self.totals.as_dict(),
            "regions": [asdict(r) for r in self.regions],
            "host": [asdict(g) for g in self.host],
            "changes": None if self.tried is None else tried,
        }

    def to_json(self) -> str:
        """`as_dict` as JSON."""
        return to_json("coverage", self.as_dict(), indent=1)

    def plot(self, theme: str = "light") -> Figure:
        """A matplotlib figure: the offloaded and the remaining work, by cause, and the sizes of the
        regions. theme: "light" or "dark"."""
        return VIEW().figure(self, theme)

    _repr_pretty_ = text_in_full

    def _repr_html_(self) -> str:
        regions = [
            (f"@{shown(r.symbol)}", r.operators, _count(r.flops), _count(r.bytes))
            for r in self.regions
        ]
        host = [(g.place, g.cause, g.calls, g.work, _named(g.names), g.reason) for g in self.host]
        tried = [(c.what, c.totals or c.error) for c in self.tried or ()]
        return (
            f"<p>{escaped(self.heading)}</p>"
            + "".join(f"<p>{escaped(warning)}</p>" for warning in self.warnings)
            + table(("region", "operators", "FLOP", "bytes in and out"), regions, numbers=(1, 2, 3))
            + table(HOST_HEAD, host, (2, 3))
            + table(("change that was tried", "then"), tried)
        )


class Coverages(Sequence[Coverage]):
    """The coverage of one module by several back ends, side by side."""

    def __init__(self, found: Sequence[Coverage]):
        self._found = tuple(found)

    def __getitem__(self, index: Any) -> Any:
        return self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> list[tuple[str, ...]]:
        """A table: a column for each back end."""
        totals = [c.totals for c in self._found]
        return [
            ("", *(c.backend for c in self._found)),
            ("operators offloaded", *(f"{t.offloaded} of {t.operators}" for t in totals)),
            ("FLOP offloaded", *(f"{t.offloaded_flops:,} of {t.flops:,}" for t in totals)),
            ("share of FLOP", *(percent(t.share) for t in totals)),
            ("regions", *(str(t.regions) for t in totals)),
            ("operators in the smallest", *(str(t.smallest) for t in totals)),
            ("bytes across boundaries", *(_count(t.bytes) for t in totals)),
            *(
                [("operators computed again", *(str(t.again) for t in totals))]
                if any(t.again for t in totals)
                else []
            ),
            ("causes", *(_causes(c.host) for c in self._found)),
        ]

    def _notes(self) -> list[str]:
        """Notes on totals that differ, and on the back ends whose regions NumPy computes here."""
        found = [(c.backend, stand_in_of(c.backend)) for c in self._found]
        numpy = [f"{name}: regions are {missing}" for name, missing in found if missing is not None]
        differ = len({(c.totals.operators, c.totals.flops) for c in self._found}) > 1
        return [WHY_TOTALS_DIFFER] * differ + numpy

    @printable
    def __str__(self) -> str:
        return "\n".join([*columns(self.rows()), *self._notes()])

    def __repr__(self) -> str:
        return f"<Coverage by {', '.join(c.backend for c in self._found)}>"

    def to_json(self) -> str:
        """The coverage of each as JSON."""
        found = [c.as_dict() for c in self._found]
        return to_json("coverages", {"backends": found}, indent=1)

    def plot(self, theme: str = "light") -> Figure:
        """A matplotlib figure with the same bars for each back end. theme: "light" or "dark"."""
        return VIEW().figure(self, theme)

    _repr_pretty_ = text_in_full

    def _repr_html_(self) -> str:
        head, *rows = self.rows()
        notes = "".join(f"<p>{escaped(note)}</p>" for note in self._notes())
        return table(head, rows, range(1, len(head))) + notes


def _group(place: str, found: Sequence[Answer]) -> HostGroup:
    names = Counter(e.name.removeprefix("call of ") for e in found)
    known = [e.flops for e in found if e.flops is not None]
    return HostGroup(
        str(found[0].cause),
        len(found),
        sum(known),
        dict(names.most_common()),
        found[0].reason,
        len(found) - len(known),
        place,
    )


def _causes(host: Sequence[HostGroup]) -> str:
    """The number of calls for each cause, such as "2 no-pattern, 1 check"; "-" for none."""
    calls: Counter[str] = Counter()
    for group in host:
        calls[group.cause] += group.calls
    return ", ".join(f"{n} {cause}" for cause, n in calls.items()) or "-"


def _named(names: dict[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in names.items())


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _rest(count: int, what: str) -> list[str]:
    return [f"  ... {count - SHOWN} more {what}"] if count > SHOWN else []
