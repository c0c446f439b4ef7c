"""The names of `tvm.te` that apache-tvm has no more. The rest is its own."""

from __future__ import annotations

from typing import Any

from byoc_lab.run.tvm_runtime import import_tvm


def size_var(name: str = "size", dtype: str = "int32", span: Any = None) -> Any:
    """A variable for a size; as a dimension of a Relay type it is `Any`."""
    return import_tvm().te.var(name, dtype)


__all__ = ["size_var"]
