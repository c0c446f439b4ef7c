"""`OpCard`: how one operation of a region was executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import counted
from byoc_lab.printing import printable

SLOW = ("ref", "simple_nchw", "simple_nhwc")
"""Prefixes of oneDNN's names for unoptimized loops (reference kernels)."""


@dataclass(frozen=True)
class OpCard:
    """The execution of one operation of a region.

    impl: the back end's name of the kernel. fused: post-ops inside that kernel; separate: post-ops
    that run after it in separate kernels (`separate_impls`). reorders: the number of layout changes
    in every call. bytes: the number of bytes read and written. time_us: the time in the last
    profiled call.
    """

    name: str
    impl: str | None
    fused: tuple[str, ...] = ()
    separate: tuple[str, ...] = ()
    reorders: int | None = None
    bytes: int | None = None
    time_us: float | None = None
    separate_impls: tuple[str, ...] = ()

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
            tuple(stats.get("post_ops_separate_impls", ())),
        )

    @property
    def slow_impls(self) -> tuple[str, ...]:
        """Its kernels that are unoptimized loops, tens of times slower than other kernels."""
        return tuple(i for i in (self.impl or "", *self.separate_impls) if i.startswith(SLOW))

    @property
    def is_slow(self) -> bool:
        """Whether oneDNN runs unoptimized loops for a part of the operation."""
        return bool(self.slow_impls)

    @printable
    def __str__(self) -> str:
        fused = "".join(f" + {name}" for name in self.fused)
        apart = f"; in separate kernels: {', '.join(self.separate)}" if self.separate else ""
        moved = f"; {counted(self.reorders, 'reorder')}" if self.reorders else ""
        took = f"; {self.time_us:,.0f} us" if self.time_us is not None else ""
        slow = "; warning: plain loops, probably slower than the host would be" * self.is_slow
        return f"{self.name}{fused}: {self.impl or 'no kernel'}{apart}{moved}{took}{slow}"
