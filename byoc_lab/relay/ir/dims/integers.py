"""Integers with the interface that scripts for TVM expect: `value` and `dtype`."""

from __future__ import annotations

from functools import lru_cache


class IntImm(int):
    """An integer with a dtype: `IntImm("int32", 1) == 1`, `.value` is the plain int."""

    dtype: str

    def __new__(cls, dtype: str, value: int, span: object = None) -> IntImm:
        return cls._shared(dtype, int(value))

    @classmethod
    @lru_cache(maxsize=1 << 14)
    def _shared(cls, dtype: str, value: int) -> IntImm:
        """Small values are shared objects: shapes and attributes repeat them so often that copies
        would take most of a module's memory."""
        made = super().__new__(cls, value)
        made.dtype = dtype
        return made

    @property
    def value(self) -> int:
        return int(self)

    def __getnewargs__(self) -> tuple[str, int]:  # type: ignore[override]
        return self.dtype, int(self)
