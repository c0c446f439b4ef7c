"""Converts notebooks to articles of the page: prose to HTML, code to text that the page makes
editable."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mistune

ROOT = Path(__file__).resolve().parents[2]
ANCHOR = re.compile(r"\s*\{ #([\w.-]+) \}$")
"""What names the anchor of a heading."""


class Source(NamedTuple):
    """The source of an article. name: its part of the address, such as "01_one_region". notebook:
    with stored outputs only; links in it are relative to `path`."""

    path: Path
    group: str
    name: str
    notebook: dict[str, Any]


class Article(NamedTuple):
    """A page of the laboratory.

    name: its part of the address. group: its heading in the navigation. notebook: {} for an article
    without code.
    """

    name: str
    title: str
    group: str
    html: str
    notebook: dict[str, Any]


def notebook_source(path: Path, group: str) -> Source:
    """The source of the article of a notebook."""
    return Source(path, group, path.stem, json.loads(path.read_text(encoding="utf-8")))


def articles_of(sources: Sequence[Source]) -> list[Article]:
    """The articles for sources; links between their files become links between articles."""
    known = {source.path: source.name for source in sources}
    return [_article(source, known) for source in sources]


def _article(source: Source, known: Mapping[Path, str]) -> Article:
    render = mistune.create_markdown(renderer=_Prose(source, known), plugins=["table"])
    cells = source.notebook["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(f'<div class="prose">{render(text)}</div>')
        else:
            shown = [text, *(output["text"] for output in cell["outputs"])]
            blocks = "".join(f"<pre>{html.escape(block)}</pre>" for block in shown)
            parts.append(f'<div class="cell" data-cell="{cell["id"]}">{blocks}</div>')
    title = re.search(r"^# (.*)$", "".join(cells[0]["source"]), re.M)
    assert title is not None, f"{source.path.name} begins without a title"
    runs = any(cell["cell_type"] == "code" for cell in cells)
    return Article(
        source.name,
        _plain(title.group(1)),
        source.group,
        "\n".join(parts),
        source.notebook if runs else {},
    )


def _plain(markdown: str) -> str:
    return markdown.replace("`", "").replace("**", "")


class _Prose(mistune.HTMLRenderer):
    """Converts Markdown to HTML, with addresses inside the page."""

    def __init__(self, source: Source, known: Mapping[Path, str]):
        super().__init__(escape=False)
        self.source, self.known = source, known
        self.slugs: Counter[str] = Counter()

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        given = ANCHOR.search(text)
        text = ANCHOR.sub("", text)
        words = re.sub(r"[^\w\s-]", "", html.unescape(re.sub(r"<[^>]+>", "", text)).lower())
        slug = given[1] if given else re.sub(r"[\s-]+", "-", words.strip())  # as in MkDocs
        self.slugs[slug] += 1
        slug += f"_{self.slugs[slug] - 1}" if self.slugs[slug] > 1 else ""
        return f'<h{level} id="{self.source.name}/{slug}" tabindex="-1">{text}</h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """A link to an article; for other targets, which the page does not have, only the text."""
        path, _, anchor = url.partition("#")
        here = self.source.path
        target = self.known.get((here.parent / path).resolve() if path else here)
        if target is not None:
            return f'<a href="#{target}{anchor and f"/{anchor}"}">{text}</a>'
        return f'<a href="{html.escape(url)}">{text}</a>' if "://" in url else text

    def table(self, text: str) -> str:
        """A table that scrolls horizontally if it is too wide."""
        return f'<div class="table" tabindex="0"><table>{text}</table></div>'
