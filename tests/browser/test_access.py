"""Access: axe finds nothing in widget and saved page, light and dark; all by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lab.view.samples import chain

from .chromium import missing
from .widget_page import NewPage, drawn, mount

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "tools/frontend/node_modules/axe-core/axe.min.js"
# A page around a widget is not the widget's: its landmarks and its first heading are the host's.
HOST = ["region", "page-has-heading-one", "landmark-one-main", "document-title", "html-has-lang"]


def violations(page: Any, skip: list[str]) -> list[str]:
    if not AXE.is_file():
        missing("axe-core is not installed (tools/frontend.sh install)")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    rules = {name: {"enabled": False} for name in skip}
    found = page.evaluate("(rules) => axe.run(document, { rules })", rules)
    return [
        f"{v['id']}: {node['html'][:150]} ({node['failureSummary'][:200]})"
        for v in found["violations"]
        for node in v["nodes"][:3]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["1", "2", "3", "4", "5"])
def test_axe_finds_nothing_in_the_widget(
    new_page: NewPage, chain_state: Any, scheme: str, tab: str
) -> None:
    page = new_page(color_scheme=scheme, reduced_motion="reduce")
    root = mount(page, chain_state, index=2)
    root.press("]")
    root.press(tab)
    assert violations(page, HOST) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_saved_page(
    new_page: NewPage, mobilenet_page: str, scheme: str
) -> None:
    page = new_page(color_scheme=scheme, reduced_motion="reduce")
    page.goto(mobilenet_page)
    root = page.locator(".byl[data-ready]")
    root.wait_for()
    drawn(root)
    for keys in (["End"], [".", "5"], ["?"]):
        for key in keys:
            root.press(key)
        drawn(root)
        assert violations(page, []) == []


def test_borders_move_by_key_and_are_remembered(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    page.goto(chain().save_html(tmp_path / "trace.html").as_uri())
    side = page.locator(".byl-side")
    page.locator(".byl[data-ready]").wait_for()
    was = side.bounding_box()["width"]
    border = page.get_by_role("separator", name="Width of the details")
    for _ in range(3):
        border.press("ArrowLeft")
    now = side.bounding_box()["width"]
    assert now > was + 60
    assert border.get_attribute("aria-valuenow") == str(round(now))
    page.reload()
    page.wait_for_function(
        "(w) => Math.abs((document.querySelector('.byl-side')?.offsetWidth ?? 0) - w) < 2", arg=now
    )


def test_arrows_move_between_tabs_and_brackets_between_lines(
    new_page: NewPage, chain_state: Any
) -> None:
    root = mount(new_page(), chain_state, index=1)
    root.locator('[role="tab"]').first.press("ArrowRight")
    assert root.locator('[role="tab"][aria-selected="true"]').text_content().startswith("Findings")
    assert root.get_attribute("data-index") == "1"
    root.press("1")
    root.press("]")
    first = root.get_attribute("data-selected")
    root.press("]")
    assert first and root.get_attribute("data-selected") not in ("", first)
    root.press("[")
    assert root.get_attribute("data-selected") == first


def test_help_takes_the_focus_and_gives_it_back(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    root.press("?")
    assert page.evaluate("() => document.activeElement.className") == "byl-help"
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.className") == "byl"


def test_presenter_mode_is_large_and_keeps_keys(new_page: NewPage, mobilenet_state: Any) -> None:
    page = new_page(viewport={"width": 1024, "height": 700})
    root = mount(page, mobilenet_state, index=8)
    root.press("P")
    assert root.get_attribute("data-present") == "true"
    box = root.bounding_box()
    assert (box["x"], box["y"], box["width"]) == (0, 0, 1024)
    assert not root.locator(".byl-stages").is_visible()
    root.press("g")
    assert root.locator(".byl-side").bounding_box()["width"] > 512, "the text is wide"
    root.press("ArrowLeft")
    assert root.get_attribute("data-index") == "7"
    root.press("P")
    assert root.locator(".byl-stages").is_visible()
