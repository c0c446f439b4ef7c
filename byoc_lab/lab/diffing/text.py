"""A diff as text: the summary, then the changed lines with some context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.lab.diffing.rows import Row
from byoc_lab.relay.text.printer_lines import Line

CONTEXT = 3
MAX_LINES = 400  # maximum number of lines in the text of a diff; `Diff.rows` has all


def text_of(summary: str, rows: Sequence[Row]) -> str:
    """The summary and the changed lines, at most MAX_LINES of them."""
    lines: list[str] = []
    for n, (line, _) in enumerate(changed_lines(rows)):
        if n == MAX_LINES:
            changed = sum(map(_differs, rows))
            lines.append(f"  ... cut here: {changed} of {len(rows)} lines differ; rows() has all")
            break
        lines.append(line)
    return "\n".join([summary, *lines])


def near_changes(rows: Sequence[Row], context: int) -> list[bool]:
    """For each row, whether it is shown: it is a change, or within `context` rows of one."""
    changes = [_differs(row) for row in rows]
    shown = list(changes)
    last = -context - 1
    for n in range(len(rows)):
        if changes[n]:
            last = n
        shown[n] |= n - last <= context
    last = len(rows) + context
    for n in reversed(range(len(rows))):
        if changes[n]:
            last = n
        shown[n] |= last - n <= context
    return shown


def _differs(row: Row) -> bool:
    """Whether the text shows both lines of a row separately."""
    return row.kind != "same" or row.renames


def _skipped_text(count: int) -> str:
    """The line that replaces `count` hidden rows."""
    return f"  ⋯ {count} unchanged line{'s' if count != 1 else ''}"


def changed_lines(rows: Sequence[Row], context: int = CONTEXT) -> Iterator[tuple[str, Line | None]]:
    """Rows as lines with + and -, with `context` unchanged lines around each change; each is paired
    with the line of the result that it shows."""
    skipped = 0
    for row, shown in zip(rows, near_changes(rows, context), strict=True):
        if not shown:
            skipped += 1
            continue
        if skipped:
            yield _skipped_text(skipped), None
            skipped = 0
        if not _differs(row) and row.after is not None:
            yield f"  {row.after.text}", row.after
            continue
        if row.before is not None:
            yield f"- {row.before.text}", None
        if row.after is not None:
            yield f"+ {row.after.text}", row.after
    if skipped:
        yield _skipped_text(skipped), None
