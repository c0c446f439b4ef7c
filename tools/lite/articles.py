"""Notebooks as articles of the page: prose as HTML, code as text that the page makes editable."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mistune

GLOSSARY = "glossary"


class Article(NamedTuple):
    """A page of the laboratory.

    name: its part of the address, such as "01_one_region".
    group: the heading of the navigation that it is listed under.
    notebook: the notebook without outputs, {} for prose alone.
    """

    name: str
    title: str
    group: str
    html: str
    notebook: dict[str, Any]


def notebook_article(path: Path, group: str, known: Sequence[str]) -> Article:
    """The article of a notebook; links lead to the articles that are `known`."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    render = _renderer(path.stem, known)
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(f'<div class="prose">{render(source)}</div>')
        else:
            code = html.escape(source)
            parts.append(f'<div class="cell" data-cell="{cell["id"]}"><pre>{code}</pre></div>')
    title = re.search(r"^# (.*)$", "".join(notebook["cells"][0]["source"]), re.M)
    assert title is not None, f"{path.name} begins without a title"
    return Article(path.stem, _plain(title.group(1)), group, "\n".join(parts), notebook)


def prose_article(path: Path, group: str, known: Sequence[str]) -> Article:
    """The article of a page of docs/."""
    text = path.read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    body = f'<div class="prose">{_renderer(path.stem, known)(text)}</div>'
    return Article(path.stem, title, group, body, {})


def _plain(markdown: str) -> str:
    return markdown.replace("`", "").replace("**", "")


def _renderer(name: str, known: Sequence[str]) -> Callable[[str], Any]:
    return mistune.create_markdown(renderer=_Prose(name, known), plugins=["table"])


class _Prose(mistune.HTMLRenderer):
    """Markdown as HTML, with addresses inside the page."""

    def __init__(self, name: str, known: Sequence[str]):
        super().__init__(escape=False)
        self.name, self.known = name, known

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        words = html.unescape(re.sub(r"<[^>]+>", "", text)).lower()
        slug = re.sub(r"\W+", "-", words).strip("-")
        return f'<h{level} id="{self.name}/{slug}" tabindex="-1">{text}</h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """A link to an article; of others, which the page does not have, the text remains."""
        path, _, anchor = url.partition("#")
        target = Path(path).stem
        if target in self.known:
            return f'<a href="#{target}{anchor and f"/{anchor}"}">{text}</a>'
        return f'<a href="{html.escape(url)}">{text}</a>' if "://" in url else text

    def table(self, text: str) -> str:
        """A table that scrolls by itself where it is too wide."""
        return f'<div class="table" tabindex="0"><table>{text}</table></div>'
