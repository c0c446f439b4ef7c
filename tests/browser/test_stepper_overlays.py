"""The stepper in a browser: numbers and reasons as overlays of the graph, kernels in the history
of a node."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from .widget_page import NewPage, drawn, mount

pytestmark = pytest.mark.browser


def test_overlay_has_a_legend_and_numbers(new_page: NewPage, mobilenet_state: Any) -> None:
    root = mount(new_page(), mobilenet_state)
    assert root.locator(".byl-value").count() == 0
    root.locator(".byl-overlays").select_option("flops")
    assert "FLOP: none to" in root.locator(".byl-legend .byl-scale").text_content()
    repeat = root.locator(".byl-box.byl-repeat .byl-value").text_content()
    assert repeat.strip().endswith(" GFLOP")
    root.press("ArrowRight")
    drawn(root)
    assert root.locator(".byl-box.byl-heat").count() > 3, "it stays from stage to stage"
    root.locator(".byl-overlays").select_option("")
    assert root.locator(".byl-value, .byl-heat, .byl-scale").count() == 0


def test_overlay_of_reasons_shows_why_and_history_shows_kernels(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    last = mobilenet_state["stages"][-1]
    module = mobilenet_state["modules"][last["after"]]
    conv = next(i for text, i in module["lines"] if "nn.conv2d(" in text)
    softmax = next(i for text, i in module["lines"] if "nn.batch_flatten(" in text)
    state = copy.deepcopy(mobilenet_state)
    kernel = "now in @f, kernel 3: jit_1x1, post-op relu"
    reason = {
        "place": "on the host",
        "cause": "no-pattern",
        "lines": [["reason", "nobody supports it"]],
    }
    state["overlays"] = {"reasons": {softmax: reason}, "numbers": {}, "kernels": {conv: kernel}}
    page = new_page()
    root = mount(page, state, index=len(state["stages"]) - 1)
    badge = root.locator(".byl-reason-badge")
    assert badge.locator("text").text_content() == "no-pattern"
    assert "why it is not in a region" in root.locator(".byl-legend").text_content()
    badge.click()
    assert root.get_attribute("data-selected") == softmax
    root.press("5")
    assert "nobody supports it" in root.locator(".byl-why-host").text_content()
    page.evaluate("(id) => model.set('selected_id', id)", conv)
    assert root.locator(".byl-kernel").text_content() == f"Kernel{kernel}"
    assert root.locator(".byl-why-host").count() == 0


def test_overlays_that_the_kernel_computes_later_are_shown(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    page = new_page()
    root = mount(page, mobilenet_state, index=8)
    groups = mobilenet_state["modules"][mobilenet_state["stages"][8]["after"]]["scene"]["groups"]
    values = {g["node"]: 0.5 for g in groups if g["kind"] == "external"}
    error = {"unit": "of the tolerance", "most": True, "values": values}
    sent = {"reasons": {}, "numbers": {"error": error}, "kernels": {}}
    page.evaluate("(sent) => model.set('overlays', sent)", sent)
    root.locator(".byl-overlays").select_option("error")
    assert "50 % of tolerance" in root.locator(".byl-value").first.text_content()
