"""Converts the pages of the documentation to notebooks: their Python blocks become cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from tools.docs.build import PLACED, reference_pages
from tools.docs.examples import BLOCK, DOCS, PYTHON, pages
from tools.docs.reference import case_studies
from tools.docs.rules import linked
from tools.docs.source import Sources
from tools.docs.symptoms import symptoms
from tools.lite.articles import Source

FRONT = re.compile(r"\A---\n.*?^---\n", re.M | re.S)
"""What a page of a symptom says of itself."""


def linked_sources() -> Sources:
    """Converts links to source lines to links inside the page."""
    return Sources(lambda path, line, up: f"#source/{path.as_posix()}/{line}")


def documentation(sources: Sources) -> Iterator[Source]:
    """The pages in the order of tasks: symptoms, how-to guides, the reference, the rest."""
    found = symptoms(DOCS / "how-to")
    first = [DOCS / "how-to" / symptom.page for symptom in found]
    others = [p for p in sorted((DOCS / "how-to").glob("*.md")) if p not in first]
    guides = [p for p in sorted(DOCS.glob("*.md")) if p.name not in PLACED]
    for group, paths in (("Something went wrong", first), ("How to", [*others, *guides])):
        for path in paths:
            yield _page(path, group, path.read_text(encoding="utf-8"))
    for name, text in reference_pages(sources, found).items():
        yield _page(DOCS / "reference" / name, "Reference", text)
    for path in sorted((DOCS / "operators").glob("*.md")):
        yield _page(path, "Examples of operators", path.read_text(encoding="utf-8"))
    rules = DOCS / "rules.md"
    text = linked(rules.read_text(encoding="utf-8"), sources, found)
    yield _page(rules, "Background", text)
    rest = [DOCS / "operators.md", DOCS / "glossary.md"]
    for path in (*rest, *sorted((DOCS / "explanation").glob("*.md"))):
        yield _page(path, "Background", path.read_text(encoding="utf-8"))
    yield _page(DOCS / "case-studies.md", "Background", case_studies())


def _page(path: Path, group: str, text: str) -> Source:
    """text: of the page on the site. Blocks become cells only on pages that can run alone."""
    examples = PYTHON.findall(path.read_text(encoding="utf-8")) if path in pages() else ()
    folder = "" if path.parent == DOCS else f"{path.parent.name}-"
    name = path.stem if path.stem == "glossary" else f"docs-{folder}{path.stem}"
    return Source(path, group, name, page_notebook(FRONT.sub("", text), examples))


def page_notebook(text: str, examples: Collection[str]) -> dict[str, Any]:
    """A notebook with the prose of a page, and a cell for each Python block in `examples`, with its
    stored output."""
    cells: list[dict[str, Any]] = []
    at = 0
    for block in BLOCK.finditer(text):
        kind, code, stored = block.groups()
        if kind == "python" and code in examples:
            cells += [_prose(text[at : block.start()]), _code(code, stored)]
            at = block.end()
    cells.append(_prose(text[at:]))
    for n, cell in enumerate(cells):
        cell["id"] = f"part-{n}"
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def _prose(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": [text.strip()]}


def _code(code: str, stored: str | None) -> dict[str, Any]:
    printed = {"output_type": "stream", "name": "stdout", "text": stored}
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [printed] if stored else [],
        "source": [code.rstrip("\n")],
    }
