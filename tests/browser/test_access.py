"""Accessibility: axe finds nothing in widget and saved page, light and dark; everything works by
keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from byoc_lab.lab.view.states.rewrites import with_steps
from byoc_lab.lab.view.states.state import Builder
from byoc_lab.lessons import cases
from tests.lab.view.samples import chain

from .chromium import missing
from .widget_page import NewPage, drawn, mount

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "tools/frontend/node_modules/axe-core/axe.min.js"
# The page around a widget belongs to the host: so do its landmarks and its first heading.
HOST = ["region", "page-has-heading-one", "landmark-one-main", "document-title", "html-has-lang"]


def violations(page: Any, skip: list[str]) -> list[str]:
    if not AXE.is_file():
        missing("axe-core is not installed (tools/frontend.sh install)")
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {
        "rules": {name: {"enabled": False} for name in skip},
        "resultTypes": ["violations"],  # passing elements are thousands, and no test reads them
        "iframes": False,  # axe is not loaded in frames, so its messages to them are errors
    }
    run = "async (options) => (await axe.run(document, options)).violations"
    found = page.evaluate(run, options)
    return [
        f"{v['id']}: {node['html'][:150]} ({node['failureSummary'][:200]})"
        for v in found
        for node in v["nodes"][:3]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_widget(new_page: NewPage, chain_state: Any, scheme: str) -> None:
    page = new_page(color_scheme=scheme, reduced_motion="reduce")
    root = mount(page, chain_state, index=2)
    root.press("]")
    for tab in "12345":
        root.press(tab)
        assert violations(page, HOST) == [], tab


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_table_of_cases(new_page: NewPage, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    page.set_content(cases.table().html())
    page.locator("summary").first.click()
    assert violations(page, []) == []


def test_panel_borders_move_by_key_and_are_remembered(new_page: NewPage, tmp_path: Path) -> None:
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


def test_help_takes_the_focus_and_returns_it(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    root.press("?")
    assert page.evaluate("() => document.activeElement.className") == "byl-help"
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.className") == "byl"


def test_presenter_mode_is_large_and_keys_still_work(
    new_page: NewPage, mobilenet_state: Any
) -> None:
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


def test_leaving_presenter_mode_at_once_also_leaves_full_screen(
    new_page: NewPage, chain_state: Any
) -> None:
    page = new_page()
    root = mount(page, chain_state)
    page.evaluate("""() => {
        window.changes = 0;
        document.addEventListener("fullscreenchange", () => window.changes++);
    }""")
    root.evaluate("""root => {
        for (const _ of [1, 2])
            root.dispatchEvent(new KeyboardEvent("keydown", {key: "P", bubbles: true}));
    }""")
    page.wait_for_function("() => window.changes === 2")
    assert page.evaluate("() => document.fullscreenElement") is None
    assert root.get_attribute("data-present") == "false"


@pytest.mark.parametrize("present", [False, True])
def test_graph_tools_are_in_one_row(new_page: NewPage, mobilenet_state: Any, present: bool) -> None:
    root = mount(new_page(viewport={"width": 1600, "height": 1000}), mobilenet_state, index=8)
    if present:
        root.press("P")
    tools = root.locator(".byl-graph-tools > *:visible").all()
    rows = [box["y"] + box["height"] / 2 for tool in tools if (box := tool.bounding_box())]
    assert max(rows) - min(rows) < 10


def test_page_zoomed_to_200_percent_has_everything_in_reach(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    """1,920 x 1,080 pixels at a zoom of 200 %."""
    page = new_page(viewport={"width": 960, "height": 540}, device_scale_factor=2)
    root = mount(page, mobilenet_state, index=6)
    for present in (False, True):
        if present:
            root.press("P")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 960
        for part in (".byl-next", ".byl-caption", ".byl-canvas", ".byl-side", ".byl-tabs"):
            box = root.locator(part).bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 961, part
        canvas = root.locator(".byl-canvas").bounding_box()
        assert canvas["width"] > 250 and canvas["height"] > 150
    assert root.bounding_box()["height"] == 540


def test_rewrite_is_announced_to_screen_readers(new_page: NewPage) -> None:
    trace = chain(fixed=True)
    builder = Builder()
    state = with_steps(trace, builder.ids, builder.trace(trace))
    root = mount(new_page(), state, index=2)
    root.press(".")
    said = root.locator("[aria-live=polite]").text_content()
    total, event = state["stages"][2]["events_total"], state["stages"][2]["events"][0]
    assert said.startswith(f"rewrite 1 / {total} of PartitionGraph.")
    assert said.endswith(event["reason"])
