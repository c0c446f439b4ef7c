"""Alignment of the lines of two printed modules.

Two lines are in one row if their nodes correspond, as far as the order of both texts allows. A row
is "same" if both texts are equal except for names, and the nodes that the names denote correspond.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from byoc_lab.lab.diffing.flow import own_fields
from byoc_lab.lab.diffing.matching import Correspondence
from byoc_lab.lab.diffing.ordering import longest_increasing
from byoc_lab.relay.ir.expr import Constant, Expr, Function, Let
from byoc_lab.relay.ir.foreign import CODE
from byoc_lab.relay.text.printer_lines import Line

_NAME = re.compile(r"[%@][^\s,:;()\[\]{}=]+|(?<=\])\[\d+\]|global_symbol=\"[^\"]*\"")

_WORD = re.compile(r"(?<![\w.\"])(?:cls\.)?([^\W\d]\w*)")


@dataclass(frozen=True, eq=False)
class Row:
    """One line of a side-by-side view. kind: "same", "added", "removed" or "changed"."""

    kind: str
    before: Line | None
    after: Line | None

    @property
    def renames(self) -> bool:
        """Whether both lines are equal but define variables with different names; numbered names do
        not count."""
        if self.kind != "same" or self.before is None or self.after is None:
            return False
        return _names(self.before) != _names(self.after)


def rows_of(found: Correspondence, before: Sequence[Line], after: Sequence[Line]) -> list[Row]:
    """The aligned lines of two texts. Corresponding functions are aligned, ordered by their names
    in the second module; functions below the operator level are last."""
    left, right = _by_function(before), _by_function(after)
    blocks: list[tuple[str | None, str | None]] = [(None, None)]
    blocks += [(f, g) for f, g in found.functions.items()]
    blocks += [(f, None) for f in left if f is not None and f not in found.functions]
    taken = set(found.functions.values())
    blocks += [(None, g) for g in right if g is not None and g not in taken]
    mods = (found.before.mod, found.after.mod)
    code = {gv.name_hint for mod in mods for gv, f in mod.functions.items() if CODE in f.attrs}
    blocks.sort(key=lambda names: ((name := names[1] or names[0] or "") in code, name))
    rows: list[Row] = []
    for f, g in blocks:
        mine = left.get(f, []) if f is not None or g is None else []
        theirs = right.get(g, []) if g is not None or f is None else []
        rows += _align(found, mine, theirs)
    return rows


def _by_function(lines: Sequence[Line]) -> dict[str | None, list[Line]]:
    found: dict[str | None, list[Line]] = {}
    for line in lines:
        if line.text.strip():
            found.setdefault(line.function, []).append(line)
    return found


def _align(found: Correspondence, a: list[Line], b: list[Line]) -> Iterator[Row]:
    place = {key: n for n, key in _keys(b)}
    candidates = []
    for n, key in _keys(a):
        partner = found.to_after.get(key[0]) if key is not None else None
        if partner is not None and (partner, key[1]) in place:
            candidates.append((n, place[partner, key[1]]))
    fixed = [candidates[n] for n in longest_increasing([m for _, m in candidates])]
    for (i, j), (k, m) in pairwise([(-1, -1), *fixed, (len(a), len(b))]):
        yield from _gap(a[i + 1 : k], b[j + 1 : m])
        if k < len(a):
            yield Row("same" if _are_same(found, a[k], b[m]) else "changed", a[k], b[m])


def _keys(lines: list[Line]) -> Iterator[tuple[int, tuple[Expr, int]]]:
    """The lines with a node, each with the node and the number of earlier lines with the same
    node."""
    seen: Counter[Expr] = Counter()
    for n, line in enumerate(lines):
        if line.node is not None:
            yield n, (line.node, seen[line.node])
            seen[line.node] += 1


def _gap(a: list[Line], b: list[Line]) -> Iterator[Row]:
    """Lines without partners. Closing lines and lines of type definitions have no nodes: they are
    paired if their texts are equal."""
    places: dict[str, list[int]] = {}
    for n, line in enumerate(b):
        if line.node is None:
            places.setdefault(line.text.strip(), []).append(n)
    at = 0
    for line in a:
        same = places.get(line.text.strip(), []) if line.node is None else []
        n = bisect_left(same, at)
        if n == len(same):
            yield Row("removed", line, None)
            continue
        yield from (Row("added", None, other) for other in b[at : same[n]])
        yield Row("same", line, b[same[n]])
        at = same[n] + 1
    yield from (Row("added", None, other) for other in b[at:])


def _without_names(line: Line) -> tuple[str, int]:
    """The text of a line with a placeholder for each name, and the number of names with a sigil.
    Languages other than Relay have no sigils; the names of the line are then given."""
    text, count = _NAME.subn("%", line.text)
    own = {name for name in (*line.refs, line.defines or "") if name.isidentifier()}
    return _WORD.sub(lambda m: "%" if m[1] in own else m[0], text) if own else text, count


def _names(line: Line) -> list[str]:
    """The names of parameters and lets that a line of Relay or Relax defines."""
    own = [line.defines] if line.defines and line.text.lstrip().startswith("let ") else []
    function = line.node.value if isinstance(line.node, Let) else line.node
    return own + ([p.name_hint for p in function.params] if isinstance(function, Function) else [])


def _is_other_name(line: Line) -> bool:
    """Whether a line only renames the value of its node: `y = x`, `return x`."""
    return any(n is line.node for name, n in line.refs.items() if name != line.defines)


def _are_same(found: Correspondence, a: Line, b: Line) -> bool:
    """Whether the lines of two corresponding nodes have the same content."""
    x, y = a.node, b.node
    assert x is not None and y is not None
    if a.text != b.text and _without_names(a) != _without_names(b):
        return False
    if isinstance(x, Function) and isinstance(y, Function):
        names = found.functions.get(a.function or "") == b.function
        return names and [found.to_after.get(p) for p in x.params] == list(y.params)
    if _is_other_name(a) and _is_other_name(b):
        return True
    if own_fields(x) != own_fields(y):
        return False
    for p, q in zip(a.refs.values(), b.refs.values(), strict=False):
        # A node that replaced an operand under its name has a separate row.
        replaced = a.text == b.text and p not in found.to_after and q not in found.to_before
        if not replaced and not found.corresponds(p, q):
            return False
    mine, theirs = ([p for p in n.parts() if isinstance(p, Constant)] for n in (x, y))
    values = [p.data.content() for p in mine] == [q.data.content() for q in theirs]
    return values and len(a.refs) == len(b.refs)
