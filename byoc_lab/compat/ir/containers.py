"""TVM's names for containers, which are Python's own here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.run.values import RefValue

Array = tuple
List = list
Map = dict
String = str
ShapeTuple = tuple


class ADT(tuple):
    """A tuple that a program returned."""

    tag = 0

    @property
    def fields(self) -> tuple[Any, ...]:
        return tuple(self)


class ConstructorValue(ADT):
    """A value of a data type: the result of a constructor on `fields`. `tag` is the constructor's.

    It is a subclass of ADT, because TVM's virtual machine returns such values as ADT.
    """

    tag: int
    constructor: Constructor | None

    def __new__(
        cls, tag: int, fields: Sequence[Any], constructor: Constructor | None = None
    ) -> ConstructorValue:
        made = super().__new__(cls, fields)
        made.tag, made.constructor = tag, constructor
        return made

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        name = self.constructor.name_hint if self.constructor else f"constructor {self.tag}"
        return f"<{name} of {len(self.fields)} fields>"


def tuple_object(fields: Iterable[Any] | None = None) -> ADT:
    """A tuple as a value."""
    return ADT(fields or ())


__all__ = ["ADT", "Array", "ConstructorValue", "List", "Map", "RefValue", "ShapeTuple",
           "String", "tuple_object"]  # fmt: skip
