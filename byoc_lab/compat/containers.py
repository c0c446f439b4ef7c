"""TVM's containers. Here they are Python's own; these are their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.relay.adt import Constructor

Array = tuple
List = list
Map = dict
String = str
ShapeTuple = tuple


class ADT(tuple):
    """A tuple that a program gave."""

    tag = 0

    @property
    def fields(self) -> tuple[Any, ...]:
        return tuple(self)


@dataclass(frozen=True, eq=False, repr=False)
class ConstructorValue:
    """A value of a data type: what a constructor made of `fields`. `tag` is the constructor's."""

    tag: int
    fields: Sequence[Any]
    constructor: Constructor | None = None

    def __repr__(self) -> str:
        name = self.constructor.name_hint if self.constructor else f"constructor {self.tag}"
        return f"<{name} of {len(self.fields)} fields>"


def tuple_object(fields: Iterable[Any] | None = None) -> ADT:
    """A tuple as a value."""
    return ADT(fields or ())


__all__ = ["ADT", "Array", "ConstructorValue", "List", "Map", "ShapeTuple", "String",
           "tuple_object"]  # fmt: skip
