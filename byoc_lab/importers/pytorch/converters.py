"""The table of converters: the function that translates each ATen operator to Relay."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byoc_lab.importers.pytorch.node import Node

Converter = Callable[["Node"], Any]

_converters: dict[str, Converter] = {}


def converts(*names: str) -> Callable[[Converter], Converter]:
    """A decorator: the function converts calls of these operators, such as "add.Tensor" of ATen.

    The function takes a `Node` and returns its result. For an operator with several results, it
    returns a tuple, with None for each result that is not computed. Names of operators outside ATen
    begin with their library.
    """

    def add(function: Converter) -> Converter:
        for name in names:
            _converters[name if "::" in name else f"aten::{name}"] = function
        return function

    return add


def converter_of(name: str) -> Converter | None:
    """The converter of an operator by its full name, such as "aten::add.Tensor", or None."""
    _discover()
    return _converters.get(name)


def supported() -> list[str]:
    """The full names of all operators that have a converter."""
    _discover()
    return sorted(_converters)


@cache
def _discover() -> None:
    package = importlib.import_module("byoc_lab.importers.pytorch.operators")
    for info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{info.name}")
