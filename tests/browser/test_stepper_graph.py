"""The stepper in a browser: its graph."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab.lab.view.state import trace_state
from tests.lab.view.samples import chain

from .widget_page import NewPage, mount

pytestmark = pytest.mark.browser


def test_the_graph_pans_and_zooms(new_page: NewPage, mobilenet_state: Any) -> None:
    page = new_page()
    root = mount(page, mobilenet_state)
    canvas = root.locator(".byl-canvas")
    layer = root.locator(".byl-zoom")
    start = layer.get_attribute("transform")
    canvas.hover()
    page.mouse.wheel(0, 300)
    page.wait_for_function(
        "(was) => document.querySelector('.byl-zoom').getAttribute('transform') !== was", arg=start
    )
    before = float(canvas.get_attribute("data-scale"))
    root.get_by_label("Zoom in").click()
    assert float(canvas.get_attribute("data-scale")) > before
    root.get_by_label("Fit the whole graph").click()
    assert float(canvas.get_attribute("data-scale")) < 0.3


def test_dragging_the_graph_chooses_nothing(new_page: NewPage, mobilenet_state: Any) -> None:
    page = new_page()
    root = mount(page, mobilenet_state)
    box = root.locator(".byl-box.byl-op").nth(3).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = root.locator(".byl-zoom").get_attribute("transform")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 120, steps=4)
    page.mouse.up()
    assert root.locator(".byl-zoom").get_attribute("transform") != before
    assert root.get_attribute("data-selected") == ""


def test_the_graph_before_and_after(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    assert root.locator(".byl-frame.byl-region").count() == 2
    root.locator(".byl-segment", has_text="Before").click()
    assert root.locator(".byl-frame.byl-region").count() == 0


def test_without_a_drawing_the_reason_is_shown(new_page: NewPage) -> None:
    state = trace_state(chain(), graphs=False)
    for module in state["modules"]:
        module["graph_note"] = "drawing graphs needs a layout program"
    root = mount(new_page(), state)
    assert "needs a layout program" in root.locator('[data-panel="graph"]').text_content()


def test_a_graph_wider_than_the_panel_begins_at_its_top(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    page = new_page()
    root = mount(page, mobilenet_state, index=3)  # each weight is scaled in a branch of its own
    room = root.locator(".byl-canvas").bounding_box()
    boxes = [box.bounding_box() for box in root.locator(".byl-canvas .byl-box").all()]
    assert max(b["x"] for b in boxes) - min(b["x"] for b in boxes) > room["width"]
    top = min(boxes, key=lambda b: b["y"])
    assert room["x"] <= top["x"] and top["x"] + top["width"] <= room["x"] + room["width"]
