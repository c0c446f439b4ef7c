"""The laboratory in one file by keyboard alone: the focus reaches and leaves every element,
visibly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from .conftest import Tab
from .laboratory import Laboratory

pytestmark = pytest.mark.browser

PLACES = Path(__file__).with_name("places.js")
FEWEST, MOST = 60, 600
"""Bounds of the number of focused elements on a page."""


def walk(lab: Laboratory) -> dict[str, Any]:
    """Moves through the page by Tab from its first element, with Escape to leave editors."""
    page = lab.page
    page.locator(".home").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")  # a focus set by a key is drawn
    page.evaluate(PLACES.read_text(encoding="utf-8"))
    page.evaluate("() => places.step()")
    for _ in range(MOST):
        page.keyboard.press("Tab")
        state = page.evaluate("() => places.step()")
        if state == "editor":
            page.keyboard.press("Escape")
        elif state == "end":
            page.keyboard.press("Shift+Tab")
            page.evaluate("() => places.leave()")
            break
    found: dict[str, Any] = page.evaluate("() => places.found")
    return found


@pytest.mark.parametrize("name", ["playground", "03_annotating_by_hand"])
def test_tab_reaches_everything_and_shows_the_focus(tab: Tab, name: str) -> None:
    lab = tab()  # browsers draw the focus only in a focused window, as a new one is
    lab.open(name)
    if name == "playground":
        lab.page.locator("#play-case").select_option("nested-partition")
        expect(lab.page.locator("#play-shown")).to_contain_text("BYL001")
    else:
        cell = lab.cell("byoc_lab.lint(broken)")
        lab.run(cell, "Run the cells above and this one")
        expect(cell).to_have_attribute("data-state", "done")
    lab.settle()
    found = walk(lab)
    assert (found["missed"], found["unseen"]) == ([], [])
    assert FEWEST < found["visited"] < MOST
