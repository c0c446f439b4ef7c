"""The table of converters: the function that translates each ONNX operator to Relay."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache

from byoc_lab.importers.onnx.node import Node
from byoc_lab.relay.ir.expr import Expr

Result = Expr | Sequence[Expr | list[Expr] | None]
Converter = Callable[[Node], Result]

_converters: dict[tuple[str, str], Converter] = {}
MICROSOFT = "com.microsoft"


def converts(*op_types: str, domain: str = "") -> Callable[[Converter], Converter]:
    """A decorator: the function converts nodes of these operators.

    The function takes a `Node` and returns its output. For an operator with several outputs, it
    returns a sequence, with None for each optional output that is not computed.
    """

    def add(function: Converter) -> Converter:
        for op_type in op_types:
            _converters[domain, op_type] = function
        return function

    return add


def converter_of(domain: str, op_type: str) -> Converter | None:
    """The converter of an operator, or None."""
    _discover()
    return _converters.get(("" if domain == "ai.onnx" else domain, op_type))


def supported() -> list[str]:
    """The names of all operators that have a converter, prefixed with the domain outside the
    default domain."""
    _discover()
    return sorted(f"{domain}.{name}" if domain else name for domain, name in _converters)


@cache
def _discover() -> None:
    package = importlib.import_module("byoc_lab.importers.onnx.operators")
    for info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{info.name}")
