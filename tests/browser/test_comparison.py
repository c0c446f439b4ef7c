"""Two traces side by side in a browser: one list of stages, two graphs, one selection."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab import relay, trace
from byoc_lab.lab.comparing import Comparison, compare
from byoc_lab.lab.view.states.comparison import comparison_state
from tests.lab.view.samples import chain, network

from .test_access import violations
from .widget_page import NewPage, drawn, mount

pytestmark = pytest.mark.browser


def back_ends() -> Comparison:
    """The chain partitioned for two back ends: dnnl takes the convolutions, ccompiler does not."""
    mod = relay.transform.InferType()(network())
    return compare(trace(mod, "dnnl"), trace(mod, "ccompiler"))


def opened(page: Any, address: str) -> Any:
    page.goto(address)
    root = page.locator(".byl[data-ready]")
    root.wait_for()
    drawn(root)
    return root


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return back_ends().save_html(tmp_path_factory.mktemp("page") / "both.html").as_uri()


def test_comparison_opens_at_the_first_difference(new_page: NewPage, address: str) -> None:
    page = new_page(viewport={"width": 1600, "height": 1000})
    root = opened(page, address)
    assert root.locator(".byl-title").text_content() == "dnnl beside ccompiler"
    assert root.locator(".byl-outcome.byl-first").first.text_content() == "◆ differs first here"
    assert "only in dnnl" in root.locator("[aria-selected=true]").first.text_content()
    titles = root.locator(".byl-side-title").all_text_contents()
    assert titles == ["First: dnnl", "Second: ccompiler"]
    left, right = (scene.bounding_box() for scene in root.locator(".byl-scene").all())
    assert left["y"] == right["y"] and abs(left["width"] - right["width"]) < 2
    assert left["x"] + left["width"] <= right["x"] + 1


def test_help_lists_only_the_keys_of_a_comparison(new_page: NewPage, address: str) -> None:
    root = opened(new_page(), address)
    root.press("?")
    words = root.locator(".byl-help").inner_text()
    assert (
        "previous / next stage" in words and "the panels: text, findings, moved, changes" in words
    )
    assert not any(word in words for word in ("rewrite", "undo", "whole pass"))


def test_one_step_shows_the_next_stage_of_both_traces(new_page: NewPage, address: str) -> None:
    page = new_page()
    root = opened(page, address)
    root.press("End")
    drawn(root)
    assert root.locator(".byl-heading h3").text_content() == "PartitionGraph"
    frames = [
        " ".join(scene.locator("text").all_text_contents())
        for scene in root.locator(".byl-scene").all()
    ]
    assert "dnnl_main" in frames[0] and "dnnl_main" not in frames[1]
    assert "ccompiler_main" in frames[1] and "ccompiler_main" not in frames[0]
    root.press("Home")
    drawn(root)
    assert "The two modules are the same." in root.locator(".byl-caption").text_content()


def test_node_and_its_counterpart_are_selected_by_keys_alone(
    new_page: NewPage, address: str
) -> None:
    page = new_page()
    root = opened(page, address)
    root.press("End")
    drawn(root)
    root.press("3")
    moved = root.locator(".byl-panel-moved")
    assert "from dnnl to the host" in moved.locator("h4").last.text_content()
    card = moved.locator("button", has_text="nn.conv2d").first
    card.press("Enter")
    assert root.get_attribute("data-selected") == card.get_attribute("data-node")
    for scene in root.locator(".byl-scene").all():
        assert scene.locator("[data-key].byl-chosen").count() == 1
    root.press("1")
    assert root.locator(".byl-diff .byl-chosen").count() > 0


def test_filter_lists_only_stages_that_differ(new_page: NewPage) -> None:
    root = mount(new_page(), comparison_state(compare(chain(), chain(fixed=True))), index=2)
    root.press("c")
    names = root.locator("[role=option]:visible .byl-name").all_text_contents()
    assert names == ["Annotate", "PartitionGraph"]
    root.press("ArrowRight")
    assert root.get_attribute("data-index") == "3"
    root.press("s")
    columns = root.locator(".byl-side-name").all_text_contents()
    assert columns == ["First: Conv, batch norm, relu", "Second: Conv, batch norm, relu"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_comparison(new_page: NewPage, address: str, scheme: str) -> None:
    page = new_page(color_scheme=scheme, reduced_motion="reduce")
    root = opened(page, address)
    assert root.get_attribute("data-theme") == scheme
    for keys in ("1", "2", "4", "End", "3"):
        root.press(keys)
        drawn(root)
        assert violations(page, []) == [], keys


def test_narrow_page_shows_both_graphs(new_page: NewPage, address: str) -> None:
    page = new_page(viewport={"width": 1024, "height": 700})
    root = opened(page, address)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 1024
    for canvas in root.locator(".byl-canvas").all():
        box = canvas.bounding_box()
        assert box["width"] > 180 and box["height"] > 200


def test_comparison_is_shown_in_a_notebook_without_a_kernel(new_page: NewPage) -> None:
    page = new_page()
    page.set_content(back_ends()._repr_mimebundle_()["text/html"])
    page.frame_locator("iframe").locator(".byl[data-ready]").wait_for()
    assert page.frame_locator("iframe").locator(".byl-scene").count() == 2
