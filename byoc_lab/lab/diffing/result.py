"""`Diff`: the difference between two modules."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import Any

from byoc_lab.display import Shown
from byoc_lab.errors import ArgumentError, DiffError, PassError
from byoc_lab.lab.diffing.changes import changes_of
from byoc_lab.lab.diffing.matching import Correspondence, Lineage
from byoc_lab.lab.diffing.patch import Patch, patch_of
from byoc_lab.lab.diffing.records import Change, summary_of
from byoc_lab.lab.diffing.rows import Row, rows_of
from byoc_lab.lab.diffing.side import Side
from byoc_lab.lab.diffing.text import text_of
from byoc_lab.output import to_json
from byoc_lab.printing import printable
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.foreign import adopted
from byoc_lab.relay.ir.module import IRModule

SCHEMA = 1  # version of the JSON


def no_lineage() -> None:
    """The lineage of modules without a trace."""


class Diff(Shown):
    """The difference between two modules; displays itself, as text in a terminal.

    Attributes: `before`, `after`, `equal` (structurally), `changes`, `summary`.

    lineage: returns the origins of nodes that a trace recorded; called on demand. sides: the `Side`
    of each module, if other diffs share them.
    """

    def __init__(
        self,
        before: IRModule,
        after: IRModule,
        lineage: Callable[[], Lineage | None] = no_lineage,
        sides: tuple[Side, Side] | None = None,
    ):
        self.before, self.after = before, after
        self.sides = sides or (Side(before), Side(after))
        self._lineage = lineage

    @cached_property
    def equal(self) -> bool:
        """Whether the two are structurally equal."""
        return structural_equal(self.before, self.after)

    @cached_property
    def correspondence(self) -> Correspondence:
        """The pairs of corresponding nodes in `before` and `after`."""
        before, after = self.sides
        return Correspondence(before.flow, after.flow, self._lineage())

    @cached_property
    def _patch(self) -> Patch:
        return patch_of(self.correspondence)

    def apply(self, mod: IRModule | Function) -> IRModule:
        """Apply the diff to `mod`; the result is structurally equal to `after`.

        Raises DiffError unless `mod` is structurally equal to `before`.
        """
        return self._patch.apply(as_module(mod, "apply takes a Diff and a module or function"))

    def to_json(self) -> str:
        """The summary, the changes, and what `apply` needs, constants included, as JSON.

        Raises DiffError for a module with free variables, and AttributeValueError for an attribute
        that JSON cannot represent.
        """
        data = {
            "equal": self.equal,
            "summary": self.summary,
            "changes": [change.to_data() for change in self.changes],
            "patch": self._patch.to_data(),
        }
        return to_json("diff", data, SCHEMA)

    @staticmethod
    def from_json(text: str) -> Diff:
        """The diff that `to_json` wrote. It can be applied and has a summary and changes, but no
        rows; for rows, diff a module with the result of `apply`. Raises DiffError for other
        text."""
        return SavedDiff(text)

    def rows(self, show_types: bool = False) -> list[Row]:
        """The aligned lines of both texts, with type comments if `show_types`."""
        before, after = (side.lines(show_types) for side in self.sides)
        return rows_of(self.correspondence, before, after)

    @cached_property
    def changes(self) -> list[Change]:
        """The classified differences."""
        return [] if self.equal else changes_of(self.correspondence)

    @property
    def summary(self) -> str:
        """The changes with their counts, such as "59 calls moved into @f, 2 calls added"."""
        return summary_of(self.changes)

    def __bool__(self) -> bool:
        return not self.equal

    @printable
    def __str__(self) -> str:
        return text_of(self.summary, self.rows() if self else ())

    def __repr__(self) -> str:
        return f"<Diff: {self.summary}>"


def as_module(obj: IRModule | Function, expected: str) -> IRModule:
    """The module itself, or a module with the function as its only one. Raises PassError for
    anything else."""
    obj = adopted(obj)
    if isinstance(obj, Function):
        return IRModule.unchecked(obj)
    if not isinstance(obj, IRModule):
        raise PassError(f"{expected}, found {type(obj).__name__}")
    return obj


class SavedDiff(Diff):
    """A diff read from JSON: without modules, so without rows and nodes."""

    def __init__(self, text: str):
        try:
            data = json.loads(text)
        except ValueError as error:
            raise DiffError(f"a saved diff is JSON, found {text[:40]!r}: {error}") from error
        if not isinstance(data, dict) or data.get("kind") != "diff":
            raise DiffError("the JSON is not a saved diff; Diff.to_json() writes one")
        if data.get("schema") != SCHEMA:
            raise DiffError(
                f"the saved diff has schema {data.get('schema')!r}, this version reads {SCHEMA}; "
                f"make it again with this version"
            )
        try:
            self.equal = bool(data["equal"])
            self.changes = [Change(before=None, after=None, **c) for c in data["changes"]]
            self._patch = Patch.from_data(data["patch"])
        except (KeyError, TypeError) as error:
            raise DiffError(f"the saved diff is not complete: {error}") from error

    def __getattr__(self, name: str) -> Any:
        if name in ("before", "after", "sides"):
            raise DiffError(
                f"a diff read from JSON has no modules, so no {name!r}; if mod is its first "
                f"module, diff(mod, saved.apply(mod)) has them"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @printable
    def __str__(self) -> str:
        return "\n".join([self.summary, *(f"  {change}" for change in self.changes)])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": str(self)}


def apply(diff: Diff, mod: IRModule | Function) -> IRModule:
    """Apply `diff` to `mod`: `apply(diff(a, b), a)` is structurally equal to b.

    Raises DiffError unless `mod` is structurally equal to the first module of the diff.
    """
    if not isinstance(diff, Diff):
        raise ArgumentError(f"apply takes a Diff and a module, found {type(diff).__name__}")
    return diff.apply(mod)
