"""Integers as TVM's scripts meet them: Python's own, with `value` and `dtype`."""

from __future__ import annotations


class IntImm(int):
    """An integer with a dtype: `IntImm("int32", 1) == 1`, `.value` is the plain one."""

    dtype: str

    def __new__(cls, dtype: str, value: int, span: object = None) -> IntImm:
        made = super().__new__(cls, value)
        made.dtype = dtype
        return made

    @property
    def value(self) -> int:
        return int(self)

    def __getnewargs__(self) -> tuple[str, int]:  # type: ignore[override]
        return self.dtype, int(self)
