"""Smaller pattern tables: fewer entries, fewer checks, simpler patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from byoc_lab.errors import ArgumentError
from byoc_lab.lab.explaining.pattern_changes import replaced
from byoc_lab.relay.patterns import DFPattern, wildcard
from byoc_lab.relay.patterns.below import post_order_patterns
from byoc_lab.relay.patterns.patterns import (
    AltPattern,
    CallPattern,
    DominatorPattern,
    WildcardPattern,
)

Entry = tuple[Any, ...]
"""(name, pattern) or (name, pattern, check)."""
Table = tuple[Entry, ...]


def checked_table(table: Any) -> Table:
    """A pattern table as a tuple. Raises ArgumentError."""
    try:
        found = tuple(tuple(entry) for entry in table)
    except TypeError:
        found = ((),)
    for entry in found:
        if not (2 <= len(entry) <= 3 and isinstance(entry[1], DFPattern)):
            raise ArgumentError(
                f"reduce: table must be a list of (name, pattern) or (name, pattern, check), found "
                f"{table!r:.80}"
            )
    return found


def table_size(table: Table) -> tuple[int, int, int]:
    """The size of a table: the number of entries, of pattern parts other than wildcards, and of
    checks."""
    parts = sum(
        not isinstance(part, WildcardPattern)
        for entry in table
        for part in post_order_patterns(entry[1])
    )
    return len(table), parts, sum(len(entry) - 2 for entry in table)


def table_text(table: Table) -> str:
    """The entries, one per line."""
    lines = (f"{e[0]}: {e[1]!r}{' (with a check)' if len(e) > 2 else ''}" for e in table)
    return "\n".join(lines)


def smaller_tables(table: Table) -> Iterator[tuple[str, Table]]:
    """Tables that are smaller by one change, each with the change in words; large changes first."""
    yield from fewer_entries(table)
    for n, entry in enumerate(table):
        name, pattern, *check = entry
        if check:
            yield f"{name} without its check", _with(table, n, (name, pattern))
        for step, new in simpler_patterns(pattern):
            yield f"{name}: {step}", _with(table, n, (name, new, *check))


def fewer_entries(table: Table) -> Iterator[tuple[str, Table]]:
    """Drop half, a quarter, ... of the entries, and each single entry."""
    size = len(table) // 2
    while size > 1:
        for start in range(0, len(table), size):
            yield f"without {size} entries", table[:start] + table[start + size :]
        size //= 2
    for n, entry in enumerate(table):
        yield f"without {entry[0]}", table[:n] + table[n + 1 :]


def simpler_patterns(pattern: DFPattern) -> Iterator[tuple[str, DFPattern]]:
    """Drop an alternative, a condition or an operator of a pattern, from the root down."""
    callees = {p.op for p in post_order_patterns(pattern) if isinstance(p, CallPattern)}
    for part in reversed(post_order_patterns(pattern)):
        if isinstance(part, WildcardPattern):
            continue
        for below in _below(part):
            yield f"{_name(below)} for {_name(part)}", replaced(pattern, part, below)
        if part is not pattern and part not in callees:
            yield f"anything for {_name(part)}", replaced(pattern, part, wildcard())


def _below(part: DFPattern) -> Sequence[DFPattern]:
    """The patterns that may replace a part."""
    if isinstance(part, DominatorPattern):
        return (part.child,)
    if isinstance(part, CallPattern):
        return [a for a in part.args or () if not isinstance(a, WildcardPattern)]
    if isinstance(part, AltPattern):
        return part.children()
    inner = getattr(part, "pattern", None)
    return (inner,) if isinstance(inner, DFPattern) else ()


def _name(part: DFPattern) -> str:
    return (part.op_name() if isinstance(part, CallPattern) else None) or type(part).__name__


def _with(table: Table, n: int, entry: Entry) -> Table:
    return (*table[:n], entry, *table[n + 1 :])
