"""Tables in HTML, for objects that display themselves in a notebook.

Jupyter's style sheet aligns every cell to the right, so each cell states its alignment. It also
states its padding, because other hosts add none.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Sequence
from typing import Any

PADDING = "padding:.2em .6em"


class Markup(str):
    """A cell that is already HTML; any other text is escaped. Used only inside the package, because
    some notebooks (marimo) can only send exact `str`."""


def table(head: Sequence[Any], rows: Sequence[Sequence[Any]], numbers: Collection[int] = ()) -> str:
    """A table; "" without rows. numbers: the positions, from 0, of right-aligned columns, whose
    cells are not wrapped. A column without any content is left out."""
    if not rows:
        return ""
    columns = [n for n in range(len(head)) if any(row[n] not in ("", None) for row in rows)]
    titles = _row("th", head, numbers, columns)
    body = "".join(_row("td", row, numbers, columns) for row in rows)
    return f"<table><thead>{titles}</thead><tbody>{body}</tbody></table>"


def escaped(content: Any) -> str:
    """The escaped HTML of a text; other objects are converted to text first."""
    return content if isinstance(content, Markup) else html.escape(str(content))


def _row(tag: str, cells: Sequence[Any], numbers: Collection[int], columns: Sequence[int]) -> str:
    shown = ""
    for n in columns:
        one_line = ";white-space:nowrap" * (tag == "td" and n in numbers)
        style = f"text-align:{'right' if n in numbers else 'left'};{PADDING}{one_line}"
        shown += f'<{tag} style="{style}">{escaped(cells[n])}</{tag}>'
    return f"<tr>{shown}</tr>"
