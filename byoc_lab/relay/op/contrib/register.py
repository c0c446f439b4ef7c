"""Registries of external compilers for the passes: pattern tables and optimizers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from byoc_lab.relay.ir.module import IRModule

Entry = tuple[Any, ...]  # (name, pattern), (name, pattern, check) or (…, check, attributes)
Table = Callable[[], Sequence[Entry]]

Optimizer = Callable[[IRModule], IRModule]

_TABLES: dict[str, Table] = {}
_OPTIMIZERS: dict[str, Optimizer] = {}


def register_pattern_table(compiler: str, table: Table | None = None) -> Any:
    """Register the function that returns the pattern table of `compiler`; also a decorator.

    A table is a list of (name, pattern) or (name, pattern, check), tried in this order;
    `check(matched expression) -> bool` may refuse a match. Registering again replaces the table.
    """

    def register(function: Table) -> Table:
        _TABLES[compiler] = function
        return function

    return register if table is None else register(table)


def unregister_pattern_table(compiler: str) -> None:
    """Forget the pattern table of `compiler`, if it has one."""
    _TABLES.pop(compiler, None)


def registered_table(compiler: str) -> Table | None:
    """The function that returns the pattern table of `compiler`, or None."""
    return _TABLES.get(compiler)


def get_pattern_table(compiler: str) -> Sequence[Entry] | None:
    """The pattern table of `compiler`; None if it has not registered one (as in TVM)."""
    return _TABLES[compiler]() if compiler in _TABLES else None


def pattern_table_names() -> list[str]:
    """The compilers that have a pattern table."""
    return sorted(_TABLES)


def register_optimizer(compiler: str, optimizer: Optimizer | None = None) -> Any:
    """Register a pass that PartitionGraph runs on each function it partitions for `compiler`; also
    a decorator. The function is @main of a typed module. TVM: "relay.ext.<compiler>.optimize"."""

    def register(function: Optimizer) -> Optimizer:
        _OPTIMIZERS[compiler] = function
        return function

    return register if optimizer is None else register(optimizer)


def get_optimizer(compiler: str) -> Optimizer | None:
    """The optimizer of `compiler`; None if it has not registered one."""
    return _OPTIMIZERS.get(compiler)
