"""Classification of differences: added, removed, moved, outlined, annotated, and so on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.lab.diffing.rows import Row
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, describe
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.printer_lines import Line


@dataclass(frozen=True, eq=False)
class Change:
    """One difference. kind: "added", "removed", "moved", "outlined", "annotated",
    "attribute changed", "type changed", "operands changed" or "changed"."""

    kind: str
    text: str
    before: Expr | None
    after: Expr | None

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def changes_of(rows: Sequence[Row], after: IRModule) -> list[Change]:
    """The differences that the rows show, in order."""
    removed = defaultdict(list)  # removed lines by what they compute; they may be added elsewhere
    for row in rows:
        if row.kind == "removed" and row.before and row.before.node is not None:
            removed[_identity(row.before.node)].append(row.before)
    arrived: dict[int, Change] = {}
    gone: set[int] = set()
    for row in rows:
        line = row.after
        if row.kind == "added" and line and line.node is not None:
            source = _take(removed[_identity(line.node)], line)
            if source is not None:
                gone.add(id(source))
                arrived[id(line)] = _move(source, line, after)
    found = []
    for row in rows:
        change = _change(row, arrived, gone)
        if change is not None:
            found.append(change)
    return found


def _take(lines: list[Line], line: Line) -> Line | None:
    """Take a removed line from `lines`, preferably from another function than `line`."""
    if not lines:
        return None
    other = next((x for x in lines if x.function != line.function), lines[0])
    lines.remove(other)
    return other


def _move(source: Line, line: Line, after: IRModule) -> Change:
    what = describe(line.node)
    if line.function == source.function:
        return Change("moved", f"{what} within @{line.function}", source.node, line.node)
    home = after[line.function] if line.function and line.function in after else None
    kind = "outlined" if home is not None and "Compiler" in home.attrs else "moved"
    return Change(kind, f"{what} into @{line.function}", source.node, line.node)


def _change(row: Row, arrived: dict[int, Change], gone: set[int]) -> Change | None:
    if row.kind == "same":
        return None
    old = row.before.node if row.before else None
    new = row.after.node if row.after else None
    if row.kind == "removed":
        if id(row.before) in gone or old is None or isinstance(old, Function):
            return _whole_function("removed", row.before)
        return Change("removed", f"{describe(old)} from @{row.before.function}", old, None)  # type: ignore[union-attr]
    if row.kind == "added":
        if id(row.after) in arrived:
            return arrived[id(row.after)]
        if new is None or isinstance(new, Function):
            return _whole_function("added", row.after)
        if is_annotation(new):
            return Change("annotated", f"{describe(new)} in @{row.after.function}", None, new)  # type: ignore[union-attr]
        return Change("added", f"{describe(new)} in @{row.after.function}", None, new)  # type: ignore[union-attr]
    if old is None or new is None:
        return None
    kind, text = _what_changed(old, new)
    return Change(kind, text, old, new)


def _whole_function(kind: str, line: Line | None) -> Change | None:
    """A global function that was added or removed; its closing line is not a change."""
    if line is None or not isinstance(line.node, Function) or not line.text.startswith("def @"):
        return None
    node = line.node
    pair = (None, node) if kind == "added" else (node, None)
    return Change(kind, f"function @{line.function}", *pair)


def _what_changed(old: Expr, new: Expr) -> tuple[str, str]:
    name = describe(new)
    if isinstance(old, Call) and isinstance(new, Call):
        if isinstance(old.op, Op) and isinstance(new.op, Op) and old.attrs != new.attrs:
            return "attribute changed", f"{name}: {_attributes(old, new)}"
        if _type(old) != _type(new):
            return "type changed", f"{name}: {_type(old)} to {_type(new)}"
        values = zip(old.args, new.args, strict=False)
        if any(
            isinstance(x, Constant) and isinstance(y, Constant) and x is not y for x, y in values
        ):
            return "operands changed", f"{name}: a constant has another value"
        return "operands changed", name
    return "changed", name


def _attributes(old: Call, new: Call) -> str:
    before, after = dict(old.attrs or {}), dict(new.attrs or {})
    keys = [k for k in {**before, **after} if before.get(k) != after.get(k)]
    return ", ".join(f"{k} {before.get(k)} to {after.get(k)}" for k in keys)


def _type(node: Expr) -> Any:
    return node.checked_type if node.is_typed else None


def _identity(node: Expr) -> Any:
    """A key of what a node computes, independent of its operands."""
    if isinstance(node, Call) and isinstance(node.op, Op):
        return (node.op.name, repr(node.attrs), str(_type(node)))
    if isinstance(node, Call) and isinstance(node.op, Function):
        return ("call", str(node.op.attrs.get("Composite")), str(_type(node)))
    return (type(node).__name__, str(_type(node)), getattr(node, "index", None))
