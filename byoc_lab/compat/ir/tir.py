"""The few names of `tvm.tir` that Relay scripts use; the rest is apache-tvm's `tirx`.

A number in an attribute or a shape is Python's own, with TVM's `value` and `dtype`.
"""

from __future__ import annotations

from byoc_lab.relay.ir.dims import Any, Symbolic, declare
from byoc_lab.relay.ir.dims.integers import IntImm
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.run.tvm_runtime import import_tvm


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


class _Variables(type):
    """Makes a symbolic dimension of a Relay type an instance of these classes, too."""

    key: str

    def __instancecheck__(cls, value: object) -> bool:
        if isinstance(value, Symbolic):
            return value.symbol is not None and cls.key in ("tir.Var", value.symbol.key)
        return cls.key == "tir.Var" and isinstance(value, import_tvm().tirx.Var)


class Var(metaclass=_Variables):
    """A variable of apache-tvm; in the shape of a Relay type it is a symbolic size."""

    key = "tir.Var"

    def __new__(cls, name: str, dtype: str = "int32", span: object = None):
        return declare(import_tvm().tirx.Var(name, dtype), cls.key)


class SizeVar(Var):
    """A variable that is known not to be negative."""

    key = "tir.SizeVar"


class StringImm(str):
    """A string with TVM's `value`."""

    @property
    def value(self) -> str:
        return str(self)


layout = Layout  # tvm.tir.layout("NCHW") creates one

__all__ = ["Any", "FloatImm", "IntImm", "Layout", "SizeVar", "StringImm", "Var", "layout"]
