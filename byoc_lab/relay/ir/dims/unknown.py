"""Dimensions whose numbers are known only at run time, and the dimension printed `?`."""

from __future__ import annotations

from typing import ClassVar

from byoc_lab.errors import TypeInferenceError


class UndecidedError(TypeInferenceError, TypeError):
    """An operation on a symbolic dimension whose result depends on the dimension's value: `n < 4`,
    `n / 3`."""


class Unknown:
    """A dimension whose number is known only at run time; base of Any and Symbolic.

    Dimensions computed from it are unknown too.
    """

    __slots__ = ()

    def __add__(self, other: int | Unknown) -> int | Unknown:
        return self

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__
    __floordiv__ = __rfloordiv__ = __mod__ = __add__

    def __round__(self) -> int | Unknown:
        return self


class Any(Unknown):
    """A dimension known only at run time, printed `?`; a singleton."""

    __slots__ = ()
    _instance: ClassVar[Any | None] = None

    def __new__(cls) -> Any:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "?"

    def __reduce__(self):
        return (Any, ())
