"""The part of `tvm.runtime` that Relay scripts use."""

from __future__ import annotations

from typing import Any

from byoc_lab.compat.ir.containers import ADT, ShapeTuple, String
from byoc_lab.compat.runtime.library import Library, load_library
from byoc_lab.compat.runtime.nd import NDArray, cpu, device
from byoc_lab.compat.runtime.params import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)
from byoc_lab.run.tvm_runtime import import_tvm


class _Modules(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, (Library, import_tvm().runtime.Module))


class Module(metaclass=_Modules):
    """The class of libraries: results of `relay.build`, and modules of apache-tvm."""


def load_module(path: Any, fmt: str = "") -> Any:
    """A library that `export_library` wrote. Raises BuildError for other files."""
    return load_library(path)


def enabled(target: str) -> bool:
    """Whether programs can be compiled for a target: the CPU."""
    return str(target).split(" ")[0] == "llvm"


def convert(value: Any) -> Any:
    """Converts a value to a container: here Python's own values, with lists as tuples."""
    return tuple(map(convert, value)) if isinstance(value, list) else value


__all__ = ["ADT", "Module", "NDArray", "ShapeTuple", "String", "convert", "cpu", "device",
           "enabled", "load_module", "load_param_dict", "load_param_dict_from_file",
           "save_param_dict", "save_param_dict_to_file"]  # fmt: skip
