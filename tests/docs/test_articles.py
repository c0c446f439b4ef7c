"""The articles of the laboratory in one file: links, anchors, and cells of the documentation."""

from __future__ import annotations

import re
from collections import Counter

from tools.docs.examples import PYTHON, pages
from tools.lite.build import articles
from tools.lite.documentation import documentation

ARTICLES = articles()
ANCHORS = [
    anchor for article in ARTICLES for anchor in re.findall(r'<h\d id="([^"]+)"', article.html)
]


def test_links_lead_to_an_article_or_to_one_of_its_headings() -> None:
    known = {article.name for article in ARTICLES} | set(ANCHORS)
    links = {link for a in ARTICLES for link in re.findall(r'href="#([^"]+)"', a.html)}
    assert len(links) > 100 and links <= known
    assert any(link.startswith("docs-museum/") for link in links), "of a message to its case"


def test_headings_have_anchors_of_their_own() -> None:
    assert [anchor for anchor, count in Counter(ANCHORS).items() if count > 1] == []


def test_blocks_of_pages_that_run_by_themselves_are_cells() -> None:
    cells = {
        source.path: [c["source"][0] for c in source.notebook["cells"] if c["cell_type"] == "code"]
        for source in documentation()
    }
    for page in pages():
        blocks = PYTHON.findall(page.read_text(encoding="utf-8"))
        assert cells[page] == [block.rstrip("\n") for block in blocks]
