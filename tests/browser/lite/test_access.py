"""The laboratory in one file: axe finds nothing on any kind of screen, light and dark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from byoc_lab.lessons.solutions import solution, wrong_source
from tests.browser.test_access import violations

from .conftest import Tab
from .laboratory import Laboratory

pytestmark = pytest.mark.browser

WHERE = {"lab": ("chromium-file",), "tab": ("chromium-http",)}
"""axe takes three times as long in Firefox; `make browsers` waits for it."""
EXERCISE = "annotate-diamond"


DETACH = """
() => {
  window.detached = [...document.querySelectorAll("article[hidden]")].map((article) => {
    const place = new Comment();
    article.replaceWith(place);
    return [place, article];
  });
}
"""
ATTACH = "() => { for (const [place, article] of window.detached) place.replaceWith(article); }"


def expect_no_violations(lab: Laboratory) -> None:
    lab.narrow()
    for scheme in ("light", "dark"):
        lab.paint(scheme)
        assert violations(lab.page, []) == [], scheme


def tutorial(lab: Laboratory) -> None:
    """A tutorial with a finding of the linter."""
    lab.open("03_annotating_by_hand")
    cell = lab.cell("byoc_lab.lint(broken)")
    lab.run(cell, "Run the cells above and this one")
    expect(cell.locator(".byl")).to_contain_text("BYL001")


def exercise(lab: Laboratory) -> None:
    """An exercise with a result and hints."""
    lab.open(EXERCISE)
    first, *_ = solution(EXERCISE).WRONG
    lab.write(lab.page.locator(f'[data-cell="{EXERCISE}-answer"]'), wrong_source(EXERCISE, first))
    judged = lab.page.locator(f'[data-cell="{EXERCISE}-check"]')
    lab.run(judged, "Run the cells above and this one")
    expect(judged).to_have_attribute("data-state", "done")


def error(lab: Laboratory) -> None:
    """A tutorial with an error, printed lines and a table."""
    lab.open("02_reading_relay")
    cell = lab.page.locator("article:visible .cell").first
    lab.write(cell, "from byoc_lab.lessons import cases\nprint(1)\ndisplay(cases)\n1 / 0")
    lab.run(cell)
    expect(cell.locator(".error")).to_contain_text("ZeroDivisionError")


def playground(lab: Laboratory) -> None:
    """The playground with all parts of a result."""
    lab.open("playground")
    lab.page.locator("#play-case").select_option("shadowed-pattern")


def glossary(lab: Laboratory) -> None:
    lab.show("glossary")


def licences(lab: Laboratory) -> None:
    lab.show("licences")


def source(lab: Laboratory) -> None:
    lab.show("docs-reference-passes")
    lab.page.locator("li", has_text="to product").get_by_role("link").click()
    expect(lab.page.locator("#source [aria-current]")).to_be_visible()


SCREENS = (tutorial, exercise, error, playground, glossary, licences, source)


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.__name__)
def test_axe_finds_nothing_on_each_kind_of_screen(
    lab: Laboratory, screen: Callable[[Laboratory], None]
) -> None:
    """Other articles are removed for the check, except on the first screen: they have 98 % of
    the elements, and axe would check them each time."""
    screen(lab)
    lab.settle()
    lab.page.evaluate(DETACH)
    try:
        expect_no_violations(lab)
    finally:
        lab.page.evaluate(ATTACH)


def test_axe_finds_nothing_in_the_first_screen(tab: Tab) -> None:
    """Also checks conflicts with articles that are not shown, such as a duplicate `id`."""
    lab = tab()
    expect(lab.page.locator("#play-shown .byl[data-ready]")).to_be_visible()
    expect_no_violations(lab)
