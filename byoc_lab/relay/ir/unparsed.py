"""`UnparsedModule`: a module that is known as text only."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import UnparsedModuleError, counted
from byoc_lab.relay.ir.module import IRModule

_UNKNOWN = frozenset(
    ("functions", "type_definitions", "attrs", "declared", "notes", "source_map", "_by_name")
)


class UnparsedModule(IRModule):
    """A module as text that does not parse: of another dialect, of a newer TVM, or damaged.

    It prints and compares as text. Accessing its functions raises UnparsedModuleError, which states
    why they are unknown.

    text: the original text, "" if the module could not even be printed. reason: why its functions
    are unknown.
    """

    def __init__(self, text: str, reason: str):
        self.text = text
        self.reason = reason

    def __getattr__(self, name: str) -> Any:
        """Raise UnparsedModuleError for attributes that a module has and a text does not have."""
        if name in _UNKNOWN:
            raise UnparsedModuleError(
                f"this module is known as text only, which can be shown and compared: "
                f"{self.reason}. Edit its .text, and byoc_lab.relay.parse(text) reads it"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<UnparsedModule of {counted(len(self.text.splitlines()), 'line')}: {self.reason}>"
