"""Region cards: where each region ran, how often, with which kernels, and how well."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HEAD = ("region", "ran on", "calls", "operators", "kernels", "time", "error", "tolerance")


@dataclass(frozen=True)
class OpCard:
    """How one operation of a region runs.

    impl: the back end's name of the kernel. fused: post-ops inside that kernel; separate: those
    that run by themselves after it. reorders: changes of layout on every call. bytes: read and
    written. time_us: of the last profiled call.
    """

    name: str
    impl: str | None
    fused: tuple[str, ...] = ()
    separate: tuple[str, ...] = ()
    reorders: int | None = None
    bytes: int | None = None
    time_us: float | None = None

    @classmethod
    def of(cls, stats: Mapping[str, Any], time_us: float | None) -> OpCard:
        """From an entry of `CompiledRegion.stats()["ops"]`."""
        return cls(
            stats["name"],
            stats.get("impl"),
            tuple(stats.get("post_ops_fused", ())),
            tuple(stats.get("post_ops_separate", ())),
            stats.get("reorders"),
            stats.get("bytes"),
            time_us,
        )

    def __str__(self) -> str:
        fused = "".join(f" + {name}" for name in self.fused)
        apart = f"; by themselves: {', '.join(self.separate)}" if self.separate else ""
        moved = f"; {self.reorders} reorders" if self.reorders else ""
        took = f"; {self.time_us:.0f} us" if self.time_us is not None else ""
        return f"{self.name}{fused}: {self.impl or 'no kernel'}{apart}{moved}{took}"


@dataclass(frozen=True)
class RegionCard:
    """One region.

    ran_on: its compiler, or "llvm" when TVM compiled it, for the reason in `why`. calls: so far.
    error: the largest difference from the reference that `validate` found, and its tolerance.
    """

    symbol: str
    compiler: str
    ran_on: str
    why: str | None
    operators: int
    calls: int
    threads: int | None = None
    ops: tuple[OpCard, ...] = field(default=(), repr=False)
    error: tuple[float, float] | None = None

    @property
    def offloaded(self) -> bool:
        return self.ran_on == self.compiler

    @property
    def time_us(self) -> float | None:
        """Sum over the operations in the last profiled call."""
        times = [op.time_us for op in self.ops if op.time_us is not None]
        return sum(times) if times else None

    def cells(self) -> tuple[str, ...]:
        """The cells under HEAD in a table."""
        why = "" if self.offloaded else f" (not on {self.compiler}: {self.why})"
        return (
            f"@{self.symbol}",
            self.ran_on + why,
            str(self.calls),
            str(self.operators),
            str(len(self.ops)) if self.offloaded else "",
            f"{self.time_us:.0f} us" if self.time_us is not None else "",
            f"{self.error[0]:.1e}" if self.error else "",
            f"{self.error[1]:.1e}" if self.error else "",
        )

    def __str__(self) -> str:
        name, where, calls, operators, _, took, error, tolerance = self.cells()
        parts = [f"{name}: ran on {where}", f"{calls} calls", f"{operators} operators", took]
        parts.append(f"error {error}, tolerance {tolerance}" if error else "")
        return "\n  ".join([", ".join(p for p in parts if p), *map(str, self.ops)])


class Cards(Sequence[RegionCard]):
    """The cards of an executable; displays itself."""

    def __init__(self, cards: Sequence[RegionCard]):
        self._cards = tuple(cards)

    def __getitem__(self, index: Any) -> Any:
        return self._cards[index]

    def __len__(self) -> int:
        return len(self._cards)

    def __str__(self) -> str:
        return "\n".join(map(str, self._cards)) or "no regions"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in HEAD)
        rows = []
        for card in self._cards:
            name, *rest = (html.escape(cell) for cell in card.cells())
            kernels = "".join(f"<li>{html.escape(str(op))}</li>" for op in card.ops)
            if kernels:
                name = f"<details><summary>{name}</summary><ol>{kernels}</ol></details>"
            rows.append(f"<tr><td>{name}</td>{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
