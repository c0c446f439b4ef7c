"""Converters of Relax operators: those on Relay's definitions, and those of this importer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab.relay.op.framework.from_relax import counterpart
from byoc_lab.relay.op.framework.registry import RELAX_NAMES

Converter = Callable[..., Any]  # (RelaxCall, its operands) -> Relay


_converters: dict[str, Converter] = {}


def converts(*names: str) -> Callable[[Converter], Converter]:
    """Register a function as the converter of these operators."""

    def register(function: Converter) -> Converter:
        _converters.update(dict.fromkeys(names, function))
        return function

    return register


def converter(name: str) -> Converter | None:
    return _converters.get(name) or counterpart(name)


def supported() -> list[str]:
    """The names of the Relax operators that can be converted."""
    return sorted({*_converters, *RELAX_NAMES})
