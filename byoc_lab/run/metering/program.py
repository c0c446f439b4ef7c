"""Common base of compiled programs: calls, cards, times of regions, and the check that regions were
offloaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from byoc_lab.errors import InputError
from byoc_lab.relay.analysis.costs import Cost
from byoc_lab.run.metering.cards import Cards, RegionErrors
from byoc_lab.run.metering.meter import Meter


class MeteredProgram(ABC):
    """A program with a meter that counts and times its regions."""

    _meter: Meter

    def __init__(self) -> None:
        self._errors: dict[str, RegionErrors] = {}  # errors found by `validate`, by symbol

    @property
    @abstractmethod
    def host(self) -> Cost | None:
        """The cost of all operators outside of regions; None if unknown."""

    @abstractmethod
    def run(self, inputs: Any = None, /, *more: Any, **named: Any) -> list[np.ndarray]:
        """The outputs, as new arrays, for inputs by name or in order."""

    def __call__(self, *inputs: Any, **named: Any) -> list[np.ndarray]:
        """As `run`."""
        if inputs and named:
            raise InputError("give the inputs in order or by name, not both")
        return self.run(inputs if inputs else named)

    def cards(self) -> Cards:
        """A card for every region, in the order of their calls."""
        return self._meter.cards(self._errors, self.host)

    def note_errors(self, symbol: str, errors: RegionErrors) -> None:
        """Put the errors of a region's results on its card."""
        self._errors[symbol] = errors

    @contextmanager
    def profiling(self) -> Iterator[None]:
        """Inside the context, calls of regions are timed, per operation if the back end supports
        it; `cards` then show the times of the last call."""
        with self._meter.profiling():
            yield

    def assert_offloaded(
        self,
        regions: int | None = None,
        min_flops: int | None = None,
        min_share: float | None = None,
        *,
        accept_numpy: bool = False,
    ) -> None:
        """Raise OffloadError unless regions ran on their back ends (`Cards.assert_offloaded`)."""
        self.cards().assert_offloaded(regions, min_flops, min_share, accept_numpy=accept_numpy)
