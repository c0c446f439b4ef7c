"""TVM's containers. Here they are Python's own; these are their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Array = tuple
List = list
Map = dict
String = str
ShapeTuple = tuple


class ADT(tuple):
    """A tuple, or the fields of a data value, that a program gave; `tag` is its constructor's."""

    tag: int
    constructor: Any

    def __new__(cls, fields: Iterable[Any], tag: int = 0, constructor: Any = None) -> ADT:
        made = super().__new__(cls, fields)
        made.tag, made.constructor = tag, constructor
        return made

    @property
    def fields(self) -> tuple[Any, ...]:
        return tuple(self)


ConstructorValue = ADT


def tuple_object(fields: Iterable[Any] | None = None) -> ADT:
    """A tuple as a value."""
    return ADT(fields or ())


__all__ = ["ADT", "Array", "ConstructorValue", "List", "Map", "ShapeTuple", "String",
           "tuple_object"]  # fmt: skip
