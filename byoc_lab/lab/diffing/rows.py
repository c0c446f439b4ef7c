"""Alignment of the lines of two printed modules.

Lines are compared without their numbers (`%3`, `meta[...][1]`), function by function. Two lines
with equal text still differ if a number on them denotes another node, or if a constant on them has
another value; so lines that are shown as the same are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from byoc_lab.relay.ir.expr import Constant, Expr, Op
from byoc_lab.relay.text.printer_lines import Line

_NUMBER = re.compile(r"%\d+\b|(?<=\])\[\d+\]")
_REFERENCE = re.compile(r"%\d+\b")


@dataclass(frozen=True, eq=False)
class Row:
    """One line of a side-by-side view. kind: "same", "added", "removed" or "changed"."""

    kind: str
    before: Line | None
    after: Line | None


def rows_of(before: Sequence[Line], after: Sequence[Line]) -> list[Row]:
    """The aligned lines of two texts.

    Functions of the same name are aligned, in the order of names, in which a module prints them.
    """
    left, right = _by_function(before), _by_function(after)
    rows: list[Row] = []
    for name in sorted({*left, *right}, key=str):
        rows += _align(left.get(name, []), right.get(name, []))
    return _checked(rows)


def _by_function(lines: Sequence[Line]) -> dict[str | None, list[Line]]:
    found: dict[str | None, list[Line]] = {}
    for line in lines:
        if line.text.strip():
            found.setdefault(line.function, []).append(line)
    return found


def _align(a: list[Line], b: list[Line]) -> Iterator[Row]:
    keys_a, keys_b = [_key(x) for x in a], [_key(x) for x in b]
    start = _common_prefix(keys_a, keys_b)
    end = _common_prefix(keys_a[start:][::-1], keys_b[start:][::-1])
    yield from (Row("same", x, y) for x, y in zip(a[:start], b[:start], strict=True))
    stop_a, stop_b = len(a) - end, len(b) - end
    matcher = SequenceMatcher(None, keys_a[start:stop_a], keys_b[start:stop_b], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        mine, theirs = a[start + i1 : start + i2], b[start + j1 : start + j2]
        if tag == "equal":
            yield from (Row("same", x, y) for x, y in zip(mine, theirs, strict=True))
        else:
            yield from _pair_up(mine, theirs)
    yield from (Row("same", x, y) for x, y in zip(a[stop_a:], b[stop_b:], strict=True))


def _common_prefix(a: Sequence[object], b: Sequence[object]) -> int:
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n


def _key(line: Line) -> Any:
    """A key of what a line says, independent of its numbers."""
    text = _NUMBER.sub(lambda number: number[0][0], line.text)
    constants = [p for p in line.node.parts() if isinstance(p, Constant)] if line.node else []
    return (text, tuple(_value_key(c) for c in constants)) if constants else text


def _value_key(constant: Constant) -> Any:
    data = constant.numpy()
    return (data.shape, data.dtype.str, hash(data.tobytes()) if data.size else 0)


def _pair_up(a: list[Line], b: list[Line]) -> Iterator[Row]:
    """Rows of lines that differ; two lines of the same operator are one changed line."""
    matcher = SequenceMatcher(None, [_kind(x) for x in a], [_kind(y) for y in b], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            yield from (Row("changed", x, y) for x, y in zip(a[i1:i2], b[j1:j2], strict=True))
        else:
            yield from (Row("removed", x, None) for x in a[i1:i2])
            yield from (Row("added", None, y) for y in b[j1:j2])


def _kind(line: Line) -> Any:
    node = line.node
    if node is None:
        return line.text.strip()
    callee = getattr(node, "op", None)
    return callee.name if isinstance(callee, Op) else type(node).__name__


def _checked(rows: list[Row]) -> list[Row]:
    """The rows, where lines with equal text but other operands are changed lines."""
    partner: dict[Expr, Expr] = {}
    for row in rows:
        if row.before and row.after and row.before.node is not None and row.after.node is not None:
            partner[row.before.node] = row.after.node
    return [
        Row("changed", r.before, r.after)
        if r.kind == "same" and not _same_references(r.before, r.after, partner)
        else r
        for r in rows
    ]


def _same_references(a: Line | None, b: Line | None, partner: dict[Expr, Expr]) -> bool:
    assert a is not None and b is not None
    names_a, names_b = _REFERENCE.findall(a.text), _REFERENCE.findall(b.text)
    for x, y in zip(names_a, names_b, strict=True):
        if x in a.refs and y in b.refs:
            mine, theirs = a.refs[x], b.refs[y]
            if mine is not theirs and partner.get(mine) is not theirs:
                return False
    return True
