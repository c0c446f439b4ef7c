"""The articles of the laboratory in one file: links, anchors, and cells of the documentation."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tools.docs.examples import PYTHON, pages
from tools.docs.source import Sources
from tools.lite.articles import Article
from tools.lite.build import articles
from tools.lite.documentation import documentation, linked_sources


@pytest.fixture(scope="module")
def sources() -> Sources:
    return linked_sources()


@pytest.fixture(scope="module")
def written(sources: Sources) -> list[Article]:
    return articles(sources)


def _anchors(written: list[Article]) -> list[str]:
    return [anchor for each in written for anchor in re.findall(r'<h\d id="([^"]+)"', each.html)]


def test_links_lead_to_an_existing_article_or_heading(written: list[Article]) -> None:
    known = {article.name for article in written} | set(_anchors(written))
    links = {link for a in written for link in re.findall(r'href="#([^"]+)"', a.html)}
    links = {link for link in links if not link.startswith("source/")}
    assert len(links) > 100 and links <= known
    assert any(link.startswith("docs-case-studies/") for link in links), "of a message to its case"


def test_source_links_name_an_existing_line_of_a_file_in_the_page(
    written: list[Article], sources: Sources
) -> None:
    linking = {
        (article.name, *place)
        for article in written
        for place in re.findall(r'href="#source/([^"]+)/(\d+)"', article.html)
    }
    lengths = {path: text.count("\n") for path, text in sources.texts.items()}
    assert {path for _, path, _ in linking} == lengths.keys()
    assert all(0 < int(line) <= lengths[path] for _, path, line in linking)
    assert {"docs-reference-passes", "docs-rules"} <= {name for name, *_ in linking}


def test_external_links_are_https_only(written: list[Article]) -> None:
    links = {link for a in written for link in re.findall(r'<a [^>]*href="([^#"][^"]*)"', a.html)}
    assert [link for link in links if not link.startswith("https://")] == []


def test_headings_have_unique_anchors(written: list[Article]) -> None:
    assert [anchor for anchor, count in Counter(_anchors(written)).items() if count > 1] == []


def test_blocks_of_self_contained_pages_are_cells(sources: Sources) -> None:
    cells = {
        source.path: [c["source"][0] for c in source.notebook["cells"] if c["cell_type"] == "code"]
        for source in documentation(sources)
    }
    for page in pages():
        blocks = PYTHON.findall(page.read_text(encoding="utf-8"))
        assert cells[page] == [block.rstrip("\n") for block in blocks]
