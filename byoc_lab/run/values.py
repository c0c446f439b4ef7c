"""Values of a program besides arrays: tuples, data of algebraic types, and references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.types import TupleType, Type


@dataclass(frozen=True, eq=False, repr=False)
class ConstructorValue:
    """A value of an algebraic data type: its constructor and its fields."""

    constructor: Constructor
    fields: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"<{self.constructor.name_hint} of {len(self.fields)} fields>"


@dataclass(eq=False)
class RefValue:
    """A reference; `value` is its content, written last."""

    value: Any


def value_of(ty: Type | None, flat: Iterator[Any]) -> Any:
    """A value of type `ty` from an iterator of its flat parts: a (nested) tuple for a tuple type,
    else the next part."""
    if isinstance(ty, TupleType):
        return tuple(value_of(field, flat) for field in ty.fields)
    return next(flat)
