"""The few names of `tvm.tir` that Relay scripts use; the rest is apache-tvm's `tirx`.

A number in an attribute or a shape is Python's own, with TVM's `value` and `dtype`.
"""

from __future__ import annotations

from byoc_lab.relay.integers import IntImm
from byoc_lab.relay.layout import Layout
from byoc_lab.relay.types import Any


class FloatImm(float):
    """A float with a dtype: `FloatImm("float32", 0.5) == 0.5`."""

    dtype: str

    def __new__(cls, dtype: str, value: float, span: object = None) -> FloatImm:
        made = super().__new__(cls, float(value))
        made.dtype = dtype
        return made

    @property
    def value(self) -> float:
        return float(self)


class StringImm(str):
    """A string with TVM's `value`."""

    @property
    def value(self) -> str:
        return str(self)


layout = Layout  # as tvm.tir.layout("NCHW") makes one

__all__ = ["Any", "FloatImm", "IntImm", "Layout", "StringImm", "layout"]
