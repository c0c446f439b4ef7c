"""The registry of pattern tables, one for each external compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Entry = tuple[Any, ...]  # (name, pattern), (name, pattern, check) or (…, check, attributes)
Table = Callable[[], Sequence[Entry]]

_TABLES: dict[str, Table] = {}


def register_pattern_table(compiler: str, table: Table | None = None) -> Any:
    """Register the function that makes the pattern table of `compiler`; also a decorator.

    A table is a list of (name, pattern) or (name, pattern, check), tried in this order, where
    `check(matched expression) -> bool` refuses a match. Registering again replaces the table.
    """

    def register(function: Table) -> Table:
        _TABLES[compiler] = function
        return function

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> Sequence[Entry] | None:
    """The pattern table of `compiler`, or None when it has registered none (as in TVM)."""
    return _TABLES[compiler]() if compiler in _TABLES else None


def pattern_table_names() -> list[str]:
    """The compilers that have a pattern table."""
    return sorted(_TABLES)
