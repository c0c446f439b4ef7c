"""Names of `tvm.te` that apache-tvm no longer has. All other names come from apache-tvm."""

from __future__ import annotations

from typing import Any

from byoc_lab.compat.ir.tir import SizeVar


def size_var(name: str = "size", dtype: str = "int32", span: Any = None) -> Any:
    """A variable for a non-negative size."""
    return SizeVar(name, dtype, span)


__all__ = ["size_var"]
