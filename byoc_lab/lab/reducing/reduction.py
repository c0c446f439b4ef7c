"""`Reduction`: the result of `reduce`, as text and as a script."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from byoc_lab.display import text_in_full
from byoc_lab.errors import counted
from byoc_lab.files import write_text
from byoc_lab.lab.diffing import Diff, diff
from byoc_lab.lab.reducing.asking import Predicate
from byoc_lab.lab.reducing.measures import operator_calls
from byoc_lab.lab.reducing.script import script_of
from byoc_lab.lab.reducing.tables import Table, table_text
from byoc_lab.printing import printable
from byoc_lab.relay.ir.module import IRModule


@dataclass(frozen=True, eq=False)
class Reduction:
    """The smallest module for which a predicate holds, and the nearest one for which it does not.

    module: the smallest module that was found. passing: the module nearest to it, among the smaller
    modules tried last, for which the predicate does not hold; None if it holds for all of them.
    original: the given module. steps: the changes that led to `module`, in words. calls: the number
    of calls of the predicate. raised: the number of calls that raised a ByocLabError, which means
    that it does not hold. minimal: whether no single change is left; false if the budget was used
    up. table: the smallest pattern table, if one was given.
    """

    name: str
    original: IRModule
    module: IRModule
    passing: IRModule | None
    steps: tuple[str, ...] = field(repr=False)
    calls: int
    raised: int
    minimal: bool
    predicate: Predicate = field(repr=False)
    table: Table | None = field(default=None, repr=False)

    @cached_property
    def difference(self) -> Diff | None:
        """The difference from `module` to `passing`, or None."""
        return None if self.passing is None else diff(self.module, self.passing)

    def script(self) -> str:
        """A Python script that shows that the predicate holds for `module` and not for `passing`.

        With a named predicate the script is complete. A function is imported if possible; otherwise
        the script has a marked place for it.
        """
        return script_of(self.name, self.predicate, self.module, self.passing, self.table)

    def save(self, path: str | Path) -> Path:
        """Write the script and return its path. Raises OSError."""
        write_text(path, self.script())
        return Path(path)

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, for JSON, with the modules as exact text."""
        passing = self.passing
        return {
            "keep": self.name,
            "module": self.module.astext(exact=True),
            "passing": None if passing is None else passing.astext(exact=True),
            "operators": operator_calls(self.module),
            "operators_before": operator_calls(self.original),
            "steps": list(self.steps),
            "calls": self.calls,
            "raised": self.raised,
            "minimal": self.minimal,
            "table": None if self.table is None else table_text(self.table).splitlines(),
        }

    @property
    def _text(self) -> str:
        return self.module.astext(show_meta_data=False, header=False, show_types=False).strip()

    def _head(self) -> str:
        after = operator_calls(self.module)
        before = counted(operator_calls(self.original), "operator")
        asked = counted(self.calls, "call")
        lines = [f"{self.name}: reduced from {before} to {after:,} with {asked} of the predicate"]
        if self.minimal:
            lines.append("no single change makes the module smaller")
        else:
            lines.append("the budget was used up: the module can probably be made smaller")
        if self.raised:
            lines.append(
                f"for {counted(self.raised, 'module')} the predicate raised an error of byoc_lab, "
                f"which counts as not holding"
            )
        return "\n".join(lines)

    @property
    def _nearest(self) -> str:
        if self.passing is None:
            return "no smaller module was found for which the predicate does not hold"
        return "the nearest module for which the predicate does not hold differs by:"

    @printable
    def __str__(self) -> str:
        lines = [self._head(), "", "it holds for:", self._text, ""]
        if self.table is not None:
            lines += ["with the pattern table:", table_text(self.table), ""]
        lines.append(self._nearest)
        if self.difference is not None:
            lines.append(str(self.difference))
        return "\n".join(lines)

    _repr_pretty_ = text_in_full

    def _repr_html_(self) -> str:
        shown = "" if self.difference is None else f"<pre>{escape(str(self.difference))}</pre>"
        table = "" if self.table is None else f"<pre>{escape(table_text(self.table))}</pre>"
        return (
            f"<p>{escape(self._head())}</p><pre>{escape(self._text)}</pre>{table}"
            f"<p>{escape(self._nearest)}</p>{shown}"
        )
