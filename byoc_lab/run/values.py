"""Values of a program besides arrays and tuples: data of algebraic types, and references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from byoc_lab.relay.ir.adt import Constructor


@dataclass(frozen=True, eq=False, repr=False)
class ConstructorValue:
    """A value of an algebraic data type: the constructor that made it, and from what."""

    constructor: Constructor
    fields: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"<{self.constructor.name_hint} of {len(self.fields)} fields>"


@dataclass(eq=False)
class RefValue:
    """A reference; `value` is its content, written last."""

    value: Any
