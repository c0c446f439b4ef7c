"""The values of `meta[T][i]` in a text, with and without a metadata section.

Old printers omitted the section, and with it the compiler's name and every constant. Such a text
still shows its structure, so placeholders are created, flagged `elided`; one warning lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab.errors import UnknownNameError
from byoc_lab.relay.ir.attrs import Attrs, AttrsType, DictAttrs, attrs_type
from byoc_lab.relay.ir.dims import symbol
from byoc_lab.relay.ir.expr import Constant, Span
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.text.json.metadata import COMPILER_ATTRS_KEY, MetaTable

UNKNOWN_COMPILER = "unknown"
_COUNTED = (COMPILER_ATTRS_KEY, "relay.Constant")


class ElidedAttrs(Attrs):
    """Placeholder attributes for `meta[T][i]` in a text without its metadata."""

    __slots__ = ()
    elided = True


class MetaEntries:
    """The metadata entries of one text. `table` is None if the text has no metadata section."""

    def __init__(self, table: MetaTable | None, compiler: str | None = None):
        self.table = table
        self.compiler = compiler
        self.made: dict[tuple[str, int], Any] = {}

    def count(self, key: str) -> int | None:
        """The number of entries of a type; None without a metadata section."""
        return None if self.table is None else len(self.table.get(key, ()))

    def get(self, key: str, index: int, span: Span, stated_type: Callable[[], TensorType]) -> Any:
        """Entry `index` of type `key`, always the same object. Raises UnknownNameError."""
        if (key, index) not in self.made:
            if self.table is not None:
                made = self.table[key][index]
                if isinstance(made, Constant):
                    made = Constant(made.data, span)
            else:
                made = self.stand_in(key, index, span, stated_type)
            self.made[key, index] = made
        return self.made[key, index]

    def stand_in(
        self, key: str, index: int, span: Span, stated_type: Callable[[], TensorType]
    ) -> Any:
        if key == "relay.Constant":
            ty = stated_type()
            try:
                # A broadcast view of one number, so that a placeholder of any shape takes no
                # memory.
                ones = np.broadcast_to(np.ones((), ty.dtype), ty.concrete_shape)
            except (TypeError, ValueError, OverflowError):
                raise UnknownNameError(f"no placeholder constant exists for {ty}") from None
            return Constant(ones, span, elided=True)
        if key == COMPILER_ATTRS_KEY:
            schema: AttrsType = attrs_type(key)
            return ElidedAttrs(schema, {"compiler": self.compiler or UNKNOWN_COMPILER})
        if key in ("Map", "DictAttrs"):
            return DictAttrs({}, elided=True)
        if key == "VirtualDevice":
            return ElidedAttrs(attrs_type(key), dict(attrs_type(key).make()))  # any device
        if key.startswith("tir."):
            return symbol(f"{key.removeprefix('tir.').lower()}{index}")
        raise UnknownNameError(f"the text has no metadata, and no placeholder exists for {key}")

    def note(self) -> str | None:
        """The assumptions, for a warning; None without assumptions."""
        if self.table is not None or not self.made:
            return None
        keys = [key for key, _ in self.made]
        parts = []
        if n := keys.count(COMPILER_ATTRS_KEY):
            name = self.compiler or UNKNOWN_COMPILER
            parts.append(f"{n} annotations name the compiler {name!r}")
        if n := keys.count("relay.Constant"):
            parts.append(f"{n} constants have the stated type and elements 1")
        if n := sum(key.startswith("tir.") for key in keys):
            parts.append(f"{n} symbolic dimensions have invented names")
        if n := len(keys) - sum(key in _COUNTED or key.startswith("tir.") for key in keys):
            parts.append(f"{n} dictionaries of call attributes are empty")
        unnamed = COMPILER_ATTRS_KEY in keys and not self.compiler
        hint = "" if not unnamed else "; parse(text, compiler=...) gives the compiler's name"
        return f"the text lacks its metadata section: {', '.join(parts)}{hint}"
