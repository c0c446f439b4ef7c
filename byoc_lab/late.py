"""`Slot`: lets a lower layer call code of a higher layer.

Higher layers import lower layers, never the reverse. If a lower layer needs a higher one, it calls
a slot, whose type is the needed interface, and the higher layer fills the slot. For example, nodes
print themselves with the printer, which imports the nodes. Importing `byoc_lab` fills all slots:

    relay.ir.node_code.NODE_CODE   the code of methods of nodes, modules and patterns
    relay.ir.foreign.READERS       readers of modules of other languages, such as Relax
    lab.language.RELAY             wraps Relay modules for the laboratory
    display.VIEW                   shows objects
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Slot(Generic[T]):
    """A slot for one object of a higher layer: `slot()` is that object."""

    def fill(self, load: Callable[[], T]) -> None:
        """Make `load()` return the object. It runs at each call, so it can import modules on first
        use."""
        self._load = load

    def __call__(self) -> T:
        return self._load()
