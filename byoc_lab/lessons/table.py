"""`CaseTable`: the case studies as a table, in a notebook and as text."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from byoc_lab.printing import printable

if TYPE_CHECKING:
    from byoc_lab.lessons.cases.base import Case

HEADS = ("case", "kind", "era", "what happens", "rule or cause", "fix")

STYLE = """
:root { color-scheme: light dark }
body { font: 14px/1.4 system-ui, sans-serif; margin: 8px; background: Canvas }
h1 { font-size: 1.2em; margin: 0 0 8px }
table { border-collapse: collapse; width: 100% }
tbody { border-top: 1px solid #8884 }
th, td { text-align: left; vertical-align: top; padding: 4px 8px; overflow-wrap: anywhere }
th, summary { white-space: nowrap }
input { width: 24em; max-width: 60%; padding: 4px; margin: 0 8px 8px 0 }
summary { cursor: pointer; font-weight: 600 }
.story p { max-width: 80ch; margin: 4px 0 8px 18px }
tbody:not(:has(details[open])) .story { display: none }
"""

SCRIPT = """
const find = document.getElementById("find"), count = document.getElementById("count");
const rows = [...document.querySelectorAll("tbody")];
function filter() {
  const words = find.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  count.textContent = `${shown} of ${rows.length} cases`;
}
find.oninput = filter;
filter();
"""


class CaseTable(Sequence["Case"]):
    """Cases in a table: with a search box and expandable stories in a notebook, with columns as
    text."""

    def __init__(self, cases: Sequence[Case]):
        self._cases = tuple(cases)

    def __len__(self) -> int:
        return len(self._cases)

    def __getitem__(self, index: Any) -> Any:
        return self._cases[index]

    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table, by line, under `HEADS`."""
        return [(c.name, c.kind, c.era, c.title, c.cause, c.fix) for c in self._cases]

    @printable
    def __str__(self) -> str:
        lines = []
        for name, kind, era, title, cause, fix in self.rows():
            lines.append(f"{name:30} {kind:5} {cause}")
            lines += textwrap.wrap(
                f"{title}. {era}. Fix: {fix}", 100, initial_indent="    ", subsequent_indent="    "
            )
        return "\n".join(lines)

    __repr__ = __str__

    def html(self) -> str:
        """The table as one page of HTML without links to other files."""
        heads = "".join(f"<th>{head}</th>" for head in HEADS)
        body = "".join(_row(case) for case in self._cases)
        return (
            f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Cases</title>"
            f"<style>{STYLE}</style><main><h1>Cases</h1>"
            f"<input id='find' type='search' placeholder='find: word, rule, era' "
            f"aria-label='find cases'><span id='count' role='status'></span>"
            f"<table><thead><tr>{heads}</tr></thead>{body}</table></main>"
            f"<script>{SCRIPT}</script></html>"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from byoc_lab.lab.view.html import iframe

        return {"text/plain": str(self), "text/html": iframe(self.html(), links=True)}


def _row(case: Case) -> str:
    """The columns of a case, and below them its story in the full width of the table."""
    e = html.escape
    source = e(case.reference)
    if case.link:
        source += f": <a href='{e(case.link)}' target='_blank' rel='noopener'>{e(case.link)}</a>"
    texts = (case.kind, case.era, case.title, case.cause, case.fix)
    cells = "".join(f"<td>{_with_code(text)}</td>" for text in texts)
    story = "".join(f"<p>{_with_code(text)}</p>" for text in case.story.split("\n\n"))
    return (
        f"<tbody><tr><td><details><summary>{e(case.name)}</summary></details></td>{cells}</tr>"
        f"<tr class='story'><td colspan='{len(HEADS)}'>{story}<p>{source}</p></td></tr></tbody>"
    )


def _with_code(text: str) -> str:
    """A text as HTML, with the text between two backticks as code."""
    return re.sub("`(.+?)`", r"<code>\1</code>", html.escape(text))
