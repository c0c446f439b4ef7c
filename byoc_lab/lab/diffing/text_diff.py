"""`diff`, and differences between modules if at least one is known only as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

from byoc_lab.errors import DiffError, counted
from byoc_lab.lab.diffing.matching import Lineage
from byoc_lab.lab.diffing.ordering import longest_increasing
from byoc_lab.lab.diffing.records import Change
from byoc_lab.lab.diffing.result import Diff, as_module, no_lineage
from byoc_lab.lab.diffing.rows import Row
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.text.printer_lines import Line


def diff(before: IRModule | Function, after: IRModule | Function) -> Diff:
    """The structural difference between two modules or functions, ignoring renumbering; the
    difference of their texts if one of them is known only as text."""
    expected = "diff takes two modules or functions"
    return diff_of(as_module(before, expected), as_module(after, expected))


def diff_of(
    before: IRModule, after: IRModule, lineage: Callable[[], Lineage | None] = no_lineage
) -> Diff:
    """The difference between two modules, using the lineage that a trace has recorded."""
    if isinstance(before, UnparsedModule) or isinstance(after, UnparsedModule):
        return TextDiff(before, after)
    return Diff(before, after, lineage)


class TextDiff(Diff):
    """A line-by-line difference. It has rows and a summary, but no changes of nodes; it cannot be
    applied or written as JSON (DiffError)."""

    @cached_property
    def equal(self) -> bool:
        """Whether the two texts are equal."""
        return text_of_module(self.before) == text_of_module(self.after)

    @property
    def correspondence(self) -> NoReturn:
        self._refuse("has no nodes")

    @property
    def _patch(self) -> NoReturn:
        self._refuse("cannot be applied or written as JSON")

    def _refuse(self, what: str) -> NoReturn:
        mod = self.before if isinstance(self.before, UnparsedModule) else self.after
        assert isinstance(mod, UnparsedModule)
        raise DiffError(f"a difference of texts {what}: {mod.reason}")

    def rows(self, show_types: bool = False) -> list[Row]:
        """The aligned lines of both texts."""
        return list(_aligned(_lines(self.before), _lines(self.after)))

    @cached_property
    def changes(self) -> list[Change]:
        """None: the changes of the graph are not known."""
        return []

    @property
    def summary(self) -> str:
        """The number of lines that differ."""
        kinds = Counter(row.kind for row in self.rows())
        parts = [
            f"{counted(kinds[kind], 'line')} of the text {kind}"
            for kind in ("changed", "removed", "added")
            if kinds[kind]
        ]
        return ", ".join(parts) or "no change"


def text_of_module(mod: IRModule) -> str:
    """The text of a module: its source text if it was parsed from a single text, else its printed
    text."""
    if isinstance(mod, UnparsedModule):
        return mod.text
    sources = list(mod.source_map.source_map.values())
    return sources[0].source if len(sources) == 1 else mod.astext(show_meta_data=False)


def _lines(mod: IRModule) -> list[Line]:
    return [Line(text) for text in text_of_module(mod).splitlines() if text.strip()]


def _aligned(a: Sequence[Line], b: Sequence[Line]) -> Iterator[Row]:
    place = {key: n for n, key in enumerate(_keys(b))}
    candidates = [(n, place[key]) for n, key in enumerate(_keys(a)) if key in place]
    fixed = [candidates[n] for n in longest_increasing([m for _, m in candidates])]
    for (i, j), (k, m) in pairwise([(-1, -1), *fixed, (len(a), len(b))]):
        yield from _gap(a[i + 1 : k], b[j + 1 : m])
        if k < len(a):
            yield Row("same", a[k], b[m])


def _keys(lines: Sequence[Line]) -> Iterator[tuple[Any, ...]]:
    """Each line with the number of earlier equal lines."""
    seen: Counter[str] = Counter()
    for line in lines:
        yield line.text, seen[line.text]
        seen[line.text] += 1


def _gap(a: Sequence[Line], b: Sequence[Line]) -> Iterator[Row]:
    if len(a) == len(b):
        for x, y in zip(a, b, strict=True):
            yield Row("same" if x.text == y.text else "changed", x, y)
    else:
        yield from (Row("removed", x, None) for x in a)
        yield from (Row("added", None, y) for y in b)
