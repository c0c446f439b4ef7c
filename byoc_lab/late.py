"""`Slot`: code of a higher layer that a lower one calls.

Imports go from higher layers to lower ones. Where a lower layer needs a higher one, it calls a
slot, whose type is the interface that it needs, and the higher layer fills it: nodes print
themselves by the printer, which needs the nodes. The slots are these; importing `byoc_lab` fills
them all:

    relay.ir.node_code.NODE_CODE   what methods of nodes, modules and patterns do
    relay.ir.foreign.READERS       what reads modules of other languages, such as Relax
    lab.language.RELAY             what the laboratory does with modules of Relay
    display.VIEW                   shows objects
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Slot(Generic[T]):
    """A place for one object of a higher layer: `slot()` is that object."""

    def fill(self, load: Callable[[], T]) -> None:
        """Let `load()` be the object. It runs at each call, so that it can import what is needed at
        the first one."""
        self._load = load

    def __call__(self) -> T:
        return self._load()
