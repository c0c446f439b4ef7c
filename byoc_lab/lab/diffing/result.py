"""`diff` and its result."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

from byoc_lab import display
from byoc_lab.errors import PassError
from byoc_lab.lab.diffing.changes import Change, changes_of
from byoc_lab.lab.diffing.rows import Row, rows_of
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.printer import print_lines

_GLYPHS = {"same": " ", "added": "+", "removed": "-", "changed": "~"}


class Diff:
    """The difference between two modules; displays itself, as text in a terminal.

    Attributes: `before`, `after`, `equal` (structurally), `changes`, `summary`.
    """

    def __init__(self, before: IRModule, after: IRModule):
        self.before, self.after = before, after

    @cached_property
    def equal(self) -> bool:
        """Whether the two are structurally equal."""
        return structural_equal(self.before, self.after)

    def rows(self, show_types: bool = False) -> list[Row]:
        """The aligned lines of both texts, with type comments if `show_types`."""
        options: dict[str, Any] = {
            "show_meta_data": False,
            "show_types": show_types,
            "header": False,
        }
        return rows_of(print_lines(self.before, **options), print_lines(self.after, **options))

    @cached_property
    def changes(self) -> list[Change]:
        """The classified differences, in the order of the text."""
        return [] if self.equal else changes_of(self.rows(), self.after)

    @property
    def summary(self) -> str:
        """The number of changes of each kind, such as "58 outlined, 2 added"."""
        counts = Counter(c.kind for c in self.changes)
        return ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "no change"

    def __bool__(self) -> bool:
        return not self.equal

    def __str__(self) -> str:
        lines = [self.summary]
        for row in self.rows():
            if row.kind == "changed":
                lines += [f"~ {row.before.text}", f"> {row.after.text}"]  # type: ignore[union-attr]
            else:
                line = row.after or row.before
                lines.append(f"{_GLYPHS[row.kind]} {line.text}")  # type: ignore[union-attr]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Diff: {self.summary}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return display.mimebundle(self)


def diff(before: IRModule | Function, after: IRModule | Function) -> Diff:
    """The structural difference between two modules or functions, ignoring renumbering."""
    return Diff(_module(before), _module(after))


def _module(obj: IRModule | Function) -> IRModule:
    if isinstance(obj, Function):
        return IRModule.unchecked(obj)
    if not isinstance(obj, IRModule):
        raise PassError(f"diff takes two modules or functions, found {type(obj).__name__}")
    return obj
