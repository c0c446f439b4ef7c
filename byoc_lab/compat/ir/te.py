"""The names of `tvm.te` that apache-tvm has no more. The rest is its own."""

from __future__ import annotations

from typing import Any

from byoc_lab.compat.ir.tir import SizeVar


def size_var(name: str = "size", dtype: str = "int32", span: Any = None) -> Any:
    """A variable for a size, which is not negative."""
    return SizeVar(name, dtype, span)


__all__ = ["size_var"]
