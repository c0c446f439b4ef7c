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
from byoc_lab.run.metering.cards import RegionFacts
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
    def facts(self) -> RegionFacts:
        return RegionFacts.of(
            self.function, self.symbol, self.compiler, self.why, stand_in=self.stand_in
        )

    def metered(self) -> MeteredRegion:
        """The region as the meter wants it."""
        return MeteredRegion(self.facts, self.module, self.compiled, only_float32(self.function))


def stand_ins_of(regions: Iterable[LinkedRegion]) -> list[tuple[str, str | None]]:
    """Regions that are not part of the host, each with the sentence about it."""
    return [(f"@{r.symbol}", r.stand_in) for r in regions if r.compiled is not None]


class Host(Protocol):
    """Runs @main, and calls the regions where @main does.

    stand_in: the sentence about NumPy in the place of TVM, where that is so. deep: whether it
    recurses, or nests many branches. direct: a shorter way for inputs that need no preparation.
    """

    stand_in: str | None
    deep: bool
    direct: Direct | None

    def prepare(self, values: Sequence[Any]) -> list[Any]:
        """Values of @main's parameters as `execute` takes them."""

    def execute(self, prepared: list[Any]) -> Any:
        """Run @main."""

    def arrays(self, result: Any) -> list[np.ndarray]:
        """A result of `execute` as new arrays, tuples flattened."""

    def set_instrument(self, instrument: Instrument | None) -> None:
        """Have each call observed from now on, or none."""

    def export(self, path: Path, regions: Sequence[LinkedRegion], lock: Lock) -> None:
        """Write a shared library. Raises BuildError. lock: is held while the program is changed."""


Lock = AbstractContextManager[Any]
