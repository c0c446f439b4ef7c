"""The documentation in the page: its cells print the stored outputs."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from playwright.sync_api import expect

from tools.lite.articles import Source
from tools.lite.documentation import documentation, linked_sources

from .laboratory import Laboratory

pytestmark = pytest.mark.browser

WHERE = {"lab": ("chromium-file",)}
TIMEOUT = 120_000  # ms for all cells of a page
OF_THE_HOST = {"docs-reference-build"}
"""Pages whose outputs say how a region is computed: in the page, NumPy computes it."""
NEED_TVM = {"docs-how-to-own-back-end-on-relax", "docs-reference-relax"}
QUICK = {"docs-how-to-free-variables", "docs-how-to-own-back-end-on-relax"}
LACKING = ("NumPy", "C compiler")
"""Words in outputs that differ because the browser has no DNNL and no C compiler."""


def code_of(page: Source) -> list[dict[str, Any]]:
    return [cell for cell in page.notebook["cells"] if cell["cell_type"] == "code"]


RUNNING = [page for page in documentation(linked_sources()) if code_of(page)]


def opened(lab: Laboratory, page: Source) -> list[Any]:
    """The cells of a page, after all of them ran in a new Python."""
    lab.show(page.name)
    lab.page.get_by_role("button", name="Interrupt and restart").click()
    lab.settle()
    cells = lab.page.locator("article:visible .cell")
    for code, cell in zip(code_of(page), cells.all(), strict=True):
        expect(cell.locator(".stream")).to_have_count(len(code["outputs"]))  # the stored output
    lab.page.get_by_role("button", name="Run all").click()
    waiting = lab.page.locator("article:visible .cell[data-state=waiting]")
    expect(waiting).to_have_count(0, timeout=TIMEOUT)
    return list(cells.all())


@pytest.mark.parametrize(
    "page",
    [p if p.name in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in RUNNING],
    ids=lambda page: page.name,
)
def test_cells_of_a_page_print_the_stored_outputs(lab: Laboratory, page: Source) -> None:
    cells = opened(lab, page)
    checker = doctest.OutputChecker()
    ran = 0
    for code, cell in zip(code_of(page), cells, strict=True):
        if cell.get_attribute("data-state") != "done":
            break  # cells after one that cannot run here are not run
        ran += 1
        printed = "".join(cell.locator(".stream.stdout").all_text_contents()).strip("\n")
        stored = "".join(output["text"] for output in code["outputs"]).strip("\n")
        same = checker.check_output(stored, printed, doctest.ELLIPSIS)
        assert same or page.name in OF_THE_HOST or any(w in printed for w in LACKING), printed
    assert (ran > 0) == (page.name not in NEED_TVM)


def test_cell_that_cannot_run_in_a_browser_shows_its_stored_output(lab: Laboratory) -> None:
    lab.open("docs-reference-errors")
    cell = lab.cell("tvm.get_global_func")
    lab.run(cell)
    expect(cell).to_contain_text("A browser does not have what this cell needs")
    expect(cell.locator(".stream")).to_contain_text("no global function is registered as")


def test_rewrite_of_a_pass_links_to_its_source_line(lab: Laboratory) -> None:
    lab.open("docs-reference-passes")
    link = lab.page.locator("li", has_text="to product").get_by_role("link")
    file, _, number = (link.text_content() or "").rpartition(":")
    link.click()
    article = lab.page.locator("#source")
    expect(article.get_by_role("heading")).to_have_text(file)
    marked = article.locator("[aria-current]")
    expect(marked).to_have_text("def to_product(pre: Expr, post: Expr) -> Expr | None:")
    expect(marked).to_be_in_viewport()
    assert marked.evaluate("(line) => [...line.parentNode.children].indexOf(line) + 1") == int(
        number
    )
    lab.page.go_back()
    expect(link).to_be_visible()


def test_source_that_is_missing_in_the_page_is_refused_with_a_message(lab: Laboratory) -> None:
    for place in ("source", "source/constructor/1", "source/byoc_lab/none.py/1e9"):
        lab.show(place)
        expect(lab.page.locator("#source pre")).to_have_text("This page has no such file.\n")
