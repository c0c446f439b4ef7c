"""The text in a state: the lines of a module, and the rows of a diff as hunks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from byoc_lab.lab.diffing import Diff, Row, TextDiff
from byoc_lab.lab.diffing.side import Side
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.printer import print_lines
from byoc_lab.relay.text.printer_lines import Line

_DEFINED = re.compile(r"def @[^(\[]*")  # the first line of a function, up to its parameters
_META = re.compile(r"meta\[relay\.Constant\]\[\d+\]")
_SIGNS = {"same": "=", "added": "+", "removed": "-", "changed": "~"}


def text_lines(obj: IRModule | Expr) -> list[Line]:
    """The lines that the view shows: no version, no metadata, no empty lines."""
    lines = print_lines(obj, show_meta_data=False, header=False)
    return [line for line in lines if line.text.strip()]


def constants_on(line: Line) -> list[tuple[str, Constant]]:
    """The constants that a line refers to by name; scalars may be written as numbers."""
    names = _META.findall(line.text)
    if not names or line.node is None:
        return []
    parts = [part for part in line.node.parts() if isinstance(part, Constant)]
    named = [part for part in parts if part.numpy().shape] if len(parts) != len(names) else parts
    return list(zip(names, named, strict=True)) if len(names) == len(named) else []


def with_types(side: Side, untyped: list[Line]) -> list[Line]:
    """Replaces the lines of a diff, which have no type comments, by the same lines with types."""
    typed: dict[str | None, list[Line]] = {}
    for line in side.lines(show_types=True):
        if line.text.strip():
            typed.setdefault(line.function, []).append(line)
    functions = dict.fromkeys(line.function for line in untyped)
    lines = [line for function in functions for line in typed.get(function, ())]
    return lines if len(lines) == len(untyped) else untyped


def lines_and_hunks(delta: Diff) -> tuple[list[Line], list[Line], list[list[Any]]]:
    """The lines of the two modules of a diff, and its rows as hunks."""
    rows = delta.rows()
    before = [r.before for r in rows if r.before is not None]
    after = [r.after for r in rows if r.after is not None]
    if not isinstance(delta, TextDiff):
        before, after = map(with_types, delta.sides, (before, after))
    return before, after, hunks_of(rows)


def hunks_of(rows: Iterable[Row]) -> list[list[Any]]:
    """Rows as runs of the same kind: [sign, first line before, first line after, count]."""
    hunks: list[list[Any]] = []
    b = a = 0
    for row in rows:
        sign = "~" if _is_renamed(row) else _SIGNS[row.kind]
        if hunks and hunks[-1][0] == sign:
            hunks[-1][3] += 1
        else:
            hunks.append([sign, b, a, 1])
        b += row.before is not None
        a += row.after is not None
    return hunks


def _is_renamed(row: Row) -> bool:
    """Whether a row is the first line of a renamed function; the lines that call it count as
    unchanged."""
    if row.kind != "same" or row.before is None or row.after is None:
        return False
    old, new = (_DEFINED.match(line.text) for line in (row.before, row.after))
    return old is not None and new is not None and old[0] != new[0]
