"""`Host`: the interface of an executable's host part; `LinkedRegion`: a region that it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from byoc_lab.relay.ir.expr import Function
from byoc_lab.run.backends import Codegen, CompiledRegion
from byoc_lab.run.metering.cards import RegionInfo
from byoc_lab.run.metering.meter import MeteredRegion, only_float32

Direct = Callable[[Sequence[Any]], "list[np.ndarray] | None"]
Instrument = Callable[..., None]
"""Called as (function, symbol, before, result, *arguments) around each call that a host makes."""


@dataclass(frozen=True)
class LinkedRegion:
    """An external function, typed, and its compilation: by its back end, or as part of the host for
    the reason `why`. codegen: the code generator used. module: the linked code. stand_in: the
    sentence that NumPy replaces a missing library (`run.stand_in`), if it does."""

    symbol: str
    compiler: str
    function: Function
    compiled: CompiledRegion | None
    why: str | None
    codegen: Codegen | None = None
    module: Any = None
    stand_in: str | None = None

    @property
    def facts(self) -> RegionInfo:
        return RegionInfo.of(
            self.function, self.symbol, self.compiler, self.why, stand_in=self.stand_in
        )

    def metered(self) -> MeteredRegion:
        """The region in the form that `Meter` takes."""
        return MeteredRegion(self.facts, self.module, self.compiled, only_float32(self.function))


def stand_ins_of(regions: Iterable[LinkedRegion]) -> list[tuple[str, str | None]]:
    """(name, stand_in) for each region that is not part of the host."""
    return [(f"@{r.symbol}", r.stand_in) for r in regions if r.compiled is not None]


class Host(Protocol):
    """Runs @main, which calls the regions.

    stand_in: the sentence that NumPy replaces TVM, if it does. deep: whether the program recurses
    or nests many branches. direct: a faster call for inputs that need no preparation
    (`direct_call`).
    """

    stand_in: str | None
    deep: bool
    direct: Direct | None

    def prepare(self, values: Sequence[Any]) -> list[Any]:
        """Convert values of @main's parameters to the form that `execute` takes."""

    def execute(self, prepared: list[Any]) -> Any:
        """Run @main."""

    def arrays(self, result: Any) -> list[np.ndarray]:
        """Convert a result of `execute` to new arrays, with tuples flattened."""

    def set_instrument(self, instrument: Instrument | None) -> None:
        """From now on, call `instrument` around each call; None removes it."""

    def export(self, path: Path, regions: Sequence[LinkedRegion], lock: Lock) -> None:
        """Write a shared library. Raises BuildError. lock: held while regions are temporarily
        removed from the program."""


Lock = AbstractContextManager[Any]
