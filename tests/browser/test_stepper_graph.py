"""The stepper in a browser: layout, selection and navigation of the graph."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.lab.view.states import rewrites
from byoc_lab.lab.view.states.parts import Parts
from byoc_lab.lab.view.states.rewrites import Steps
from byoc_lab.lab.view.states.state import module_state, trace_state
from tests.lab.view.samples import chain, mobilenet

from .widget_page import NewPage, answer, drawn, model, mount, still

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("index", range(len(mobilenet())))
def test_mobilenet_fits_one_screen_in_large_type(
    new_page: NewPage, mobilenet_state: Any, index: int
) -> None:
    """At every stage all boxes are inside the canvas, with type of 16 px or more."""
    page = new_page(viewport={"width": 1600, "height": 1000})
    root = mount(page, mobilenet_state, index=index)
    assert float(root.locator(".byl-canvas").get_attribute("data-scale")) >= 1
    canvas = root.locator(".byl-canvas").bounding_box()
    for box in root.locator(".byl-box > .byl-border").all():
        at = box.bounding_box()
        assert at["x"] >= canvas["x"] and at["y"] >= canvas["y"]
        assert at["x"] + at["width"] <= canvas["x"] + canvas["width"] + 1
        assert at["y"] + at["height"] <= canvas["y"] + canvas["height"] + 1


def test_repeated_block_opens_and_closes_in_place(new_page: NewPage, mobilenet_state: Any) -> None:
    root = mount(new_page(), mobilenet_state)
    repeat = root.locator(".byl-box.byl-repeat")
    assert "13 times" in repeat.text_content()
    count = root.locator(".byl-box:not(.byl-gone)").count()
    repeat.locator(".byl-opener").click()
    root.locator(".byl-box.byl-copy").nth(12).wait_for()
    assert root.locator(".byl-box:not(.byl-gone)").count() >= count + 12
    root.locator(".byl-frame.byl-repeat .byl-opener").click()
    root.locator(".byl-box.byl-repeat").wait_for()


def test_regions_have_the_colour_of_their_back_end(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    regions = root.locator(".byl-region")
    assert regions.count() == 2
    assert all("byl-c0" in r.get_attribute("class").split() for r in regions.all())
    assert "dnnl" in root.locator(".byl-legend").text_content()


def test_begin_and_end_are_drawn_on_the_region_boundary(
    new_page: NewPage, chain_state: Any
) -> None:
    root = mount(new_page(), chain_state, index=1)
    assert root.locator(".byl-box.byl-begin, .byl-box.byl-end").count() == 0
    begin = root.locator(".byl-note.byl-begin").first
    ident = begin.get_attribute("data-ids")
    begin.click()
    assert root.get_attribute("data-selected") == ident
    chosen = root.locator('code.byl-chosen[data-side="a"]').first
    assert "compiler_begin" in chosen.text_content()


def test_boxes_are_kept_from_stage_to_stage(new_page: NewPage, mobilenet_state: Any) -> None:
    """The element of a remaining box is moved, not created again; a removed box fades out."""
    page = new_page()
    root = mount(page, mobilenet_state)
    page.evaluate("() => document.querySelectorAll('[data-key]').forEach((e) => (e.was = true))")
    root.press("ArrowRight")  # SimplifyInference
    drawn(root)
    kept = page.evaluate(
        "() => [...document.querySelectorAll('[data-key]:not(.byl-gone)')].filter((e) => e.was)"
        ".map((e) => e.textContent)"
    )
    assert any("nn.global_avg_pool2d" in text for text in kept)
    assert any("nn.softmax" in text for text in kept)
    assert root.locator(".byl-fresh").count() > 0


def test_pan_and_zoom_stay_after_a_step(new_page: NewPage, mobilenet_state: Any) -> None:
    root = mount(new_page(), mobilenet_state, index=5)
    root.get_by_label("Zoom in").click()
    root.get_by_label("Zoom in").click()
    scale = root.locator(".byl-canvas").get_attribute("data-scale")
    root.press("ArrowRight")
    drawn(root)
    assert root.locator(".byl-canvas").get_attribute("data-scale") == scale
    assert root.locator(".byl-overview").is_visible()
    root.get_by_title("Fit the whole graph").click()
    assert root.locator(".byl-canvas").get_attribute("data-scale") != scale
    assert not root.locator(".byl-overview").is_visible()


def place(locator: Any) -> tuple[float, float]:
    """The upper left corner of a box on the screen, once the box has stopped moving."""
    still(locator.page)
    box = locator.bounding_box()
    return round(box["x"]), round(box["y"])


def test_opened_group_and_centred_box_keep_their_position(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    """A group that is opened in a zoomed graph, and the box in the middle from step to step."""
    root = mount(new_page(reduced_motion="reduce"), mobilenet_state, index=3)
    for _ in range(2):
        root.get_by_label("Zoom in").click()
    repeat = root.locator('.byl-repeat[data-key^="repeat:"]')
    key, was = repeat.get_attribute("data-key"), place(repeat)
    repeat.locator(".byl-opener").click()
    drawn(root)
    opened = root.locator(f'.byl-frame[data-key="{key}"]')
    assert place(opened) == was
    opened.press("o")
    drawn(root)
    was = place(root.locator(f'[data-key="{key}"]'))
    root.press("ArrowLeft")
    drawn(root)
    now = place(root.locator(f'[data-key="{key}"]'))
    assert abs(now[0] - was[0]) < 60 and abs(now[1] - was[1]) < 60


def test_click_on_the_overview_map_moves_the_graph_there(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    page = new_page()
    root = mount(page, mobilenet_state)
    overview = root.locator(".byl-overview")
    assert not overview.is_visible(), "the whole graph is in the window"
    for _ in range(6):
        root.get_by_label("Zoom in").click()
    canvas = root.locator(".byl-canvas").bounding_box()

    def middle() -> list[float]:
        """The point of the graph in the middle of the window."""
        found = page.evaluate(
            """() => {
              const { transform } = document.querySelector(".byl-zoom");
              const { e, f, a } = transform.baseVal.consolidate().matrix;
              return [-e / a, -f / a];
            }"""
        )
        return list(found)

    size = overview.bounding_box()
    overview.click(position={"x": 5, "y": 5})
    first = middle()
    overview.click(position={"x": size["width"] - 5, "y": size["height"] - 5})
    last = middle()
    assert first[0] == 0 and first[1] == 0, "the upper left corner"
    assert last[0] > canvas["width"] / 10 and last[1] > canvas["height"] / 10


def test_wheel_pans_the_graph(new_page: NewPage, mobilenet_state: Any) -> None:
    page = new_page()
    root = mount(page, mobilenet_state)
    for _ in range(4):
        root.get_by_label("Zoom in").click()
    layer = root.locator(".byl-zoom")
    start = layer.get_attribute("transform")
    root.locator(".byl-canvas").hover()
    page.mouse.wheel(0, 200)
    page.wait_for_function(
        "(was) => document.querySelector('.byl-zoom').getAttribute('transform') !== was", arg=start
    )


def test_dragging_the_graph_selects_nothing(new_page: NewPage, mobilenet_state: Any) -> None:
    page = new_page()
    root = mount(page, mobilenet_state)
    for _ in range(4):
        root.get_by_label("Zoom in").click()
    canvas = root.locator(".byl-canvas").bounding_box()
    x, y = canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2
    before = root.locator(".byl-zoom").get_attribute("transform")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 120, steps=4)
    page.mouse.up()
    assert root.locator(".byl-zoom").get_attribute("transform") != before
    assert root.get_attribute("data-selected") == ""


def test_graph_toggles_between_before_and_after(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    assert root.locator(".byl-frame.byl-region").count() == 2
    root.locator(".byl-segment", has_text="Before").click()
    drawn(root)
    assert root.locator(".byl-frame.byl-region:not(.byl-gone)").count() == 0


def test_note_on_unopened_groups_is_shown_only_for_its_stage(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    root = mount(new_page(), mobilenet_state, index=1)
    root.get_by_title("Open all groups").click()
    root.locator(".byl-left").wait_for()
    root.press("End")
    drawn(root)
    assert root.locator(".byl-left").count() == 0


def test_edges_are_not_drawn_over_group_names(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state, index=1)
    labels = root.locator(".byl-edges > .byl-label")
    assert [text for text in labels.all_text_contents() if "region" in text] == [
        "dnnl · region 0", "dnnl · region 6"
    ]  # fmt: skip
    assert "byl-c0" in labels.first.get_attribute("class").split()
    assert root.locator(".byl-label ~ .byl-arrow, .byl-frame .byl-label").count() == 0
    frame = root.locator(".byl-frame.byl-region").first.bounding_box()
    name = labels.first.bounding_box()
    assert frame["x"] < name["x"] and name["x"] + name["width"] < frame["x"] + frame["width"]
    assert frame["y"] < name["y"] < frame["y"] + 20


@pytest.mark.parametrize("size", [(800, 600), (1024, 768), (1600, 1000)])
def test_graph_larger_than_the_window_begins_in_readable_type(
    new_page: NewPage, size: tuple[int, int]
) -> None:
    page = new_page(viewport={"width": size[0], "height": size[1]})
    root = mount(page, trace_state(chain(fixed=True, blocks=4)), index=2)
    canvas = root.locator(".byl-canvas")
    assert float(canvas.get_attribute("data-scale")) >= 0.4
    first, window = root.locator(".byl-box.byl-input").first.bounding_box(), canvas.bounding_box()
    assert window["x"] <= first["x"] and first["x"] + first["width"] < window["x"] + window["width"]
    root.get_by_title("Fit the whole graph").click()
    last = root.locator(".byl-box.byl-output").bounding_box()
    assert last["x"] + last["width"] <= window["x"] + window["width"] + 1


def test_search_finds_operators_attributes_and_shapes(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    page = new_page()
    root = mount(page, mobilenet_state)
    search, hits = root.locator(".byl-search"), root.locator(".byl-hits")
    for wanted, count in (("softmax", 1), ("groups=512", 6), ("512.(7.7|14.14)", 36), ("%data", 2)):
        search.fill(wanted)
        assert hits.text_content() == f"{count} found", wanted
    assert root.locator(".byl-box.byl-hit").count() > 0
    search.fill("(")
    assert hits.text_content() == "not a regular expression"
    search.fill("groups=512")
    search.press("Enter")
    root.locator(".byl-box.byl-chosen").wait_for()
    assert "groups=512" in root.locator("code.byl-chosen").first.text_content()


def test_open_all_stays_readable_and_names_unopened_groups(new_page: NewPage) -> None:
    """It opens every group of a small graph, and the outer levels of a large one."""
    large, _ = relay.testing.resnet.get_workload(num_layers=50)
    for mod, complete in ((chain()["Annotate"].after, True), (large, False)):
        root = mount(new_page(), module_state(mod))
        root.get_by_title("Open all groups").click()
        root.locator(".byl-scene:not([data-busy])").wait_for()
        if not complete:
            root.locator(".byl-left").wait_for()
            assert re.match(r"\d+ groups? not opened: ", root.locator(".byl-left").text_content())
        assert root.locator(".byl-left").count() == (not complete)
        assert (root.locator(".byl-folded").count() == 0) == complete
        assert float(root.locator(".byl-canvas").get_attribute("data-scale")) >= 0.6
        root.get_by_title("Fold all groups").click()
        drawn(root)
        assert root.locator(".byl-left").count() == 0


FOCUSED = "() => document.activeElement.dataset.key ?? ''"


def test_enter_in_the_search_moves_to_the_next_hit(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    root.locator(".byl-search").fill("nn.conv2d")
    page.keyboard.press("Enter")
    page.wait_for_function(FOCUSED)
    first = page.evaluate(FOCUSED)
    label = "() => document.activeElement.getAttribute('aria-label')"
    assert "nn.conv2d" in page.evaluate(label)
    page.keyboard.press("n")
    page.wait_for_function(f"(first) => ({FOCUSED})() !== first", arg=first)
    assert "nn.conv2d" in page.evaluate(label)
    page.keyboard.press("N")
    page.wait_for_function(f"(first) => ({FOCUSED})() === first", arg=first)


@pytest.mark.parametrize("saved", [False, True])
def test_tab_focuses_the_graph_and_arrows_move_between_boxes(
    new_page: NewPage, chain_state: Any, tmp_path: Path, saved: bool
) -> None:
    """By keys alone: from the beginning of the page, at each stage."""
    page = new_page()
    if saved:
        page.goto(chain().save_html(tmp_path / "trace.html").as_uri())
        root = page.locator(".byl[data-ready]")
        root.wait_for()
        drawn(root)
    else:
        root = mount(page, chain_state)
    for _ in range(2):
        for _ in range(40):
            page.keyboard.press("Tab")
            if key := page.evaluate(FOCUSED):
                break
        assert key, "Tab reaches no box of the graph"
        page.keyboard.press("ArrowDown")
        assert page.evaluate(FOCUSED) != key
        page.keyboard.press("Enter")
        assert root.get_attribute("data-selected")
        root.press("ArrowRight")
        drawn(root)


def test_following_a_node_highlights_upstream_and_downstream_boxes(
    new_page: NewPage, chain_state: Any
) -> None:
    root = mount(new_page(), chain_state)
    second = root.locator(".byl-box.byl-op", has_text="nn.conv2d").nth(1)
    second.click()
    root.press("u")
    assert root.locator(".byl-box.byl-op.byl-up").count() == 4  # conv, norm, relu and itself
    assert root.locator(".byl-box.byl-op.byl-down").count() == 3
    root.press("u")
    assert root.locator(".byl-up").count() == 0


def test_node_is_selected_by_keyboard(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state, index=1)
    root.locator(".byl-box.byl-op").first.click()
    here = "() => document.activeElement.dataset.key"
    first = page.evaluate(here)
    page.keyboard.press("ArrowDown")
    assert page.evaluate(here) != first
    assert root.get_attribute("data-index") == "1", "arrows in the graph change no stage"
    page.keyboard.press("Enter")
    assert root.get_attribute("data-selected")


def test_reduced_motion_removes_animations(new_page: NewPage, mobilenet_state: Any) -> None:
    root = mount(new_page(reduced_motion="reduce"), mobilenet_state)
    root.press("ArrowRight")
    drawn(root)
    assert root.locator(".byl-gone, .byl-appear").count() == 0


def test_large_trace_is_sent_in_parts(new_page: NewPage) -> None:
    """In this order: list of stages, graphs of the shown stage and its neighbours, text."""
    parts = Parts(mobilenet(), whole=False)
    page = new_page()
    root = mount(page, json.loads(json.dumps(parts.state)), index=1)
    assert "is being computed" in root.locator(".byl-canvas").text_content()
    assert root.locator("[role=option]").count() == len(mobilenet())
    asked = "model.get('asked')"
    page.wait_for_function(f"() => {asked}?.stage === 1 && {asked}.what === 'picture'")
    answer(page, part=parts.part(1))
    drawn(root)
    assert root.locator(".byl-box.byl-repeat").count() == 1
    assert "is being computed" in root.locator(".byl-diff").text_content()
    assert root.locator(".byl-fresh").count() == 0
    answer(page, part=parts.part(1))
    root.locator(".byl-box.byl-fresh").first.wait_for()
    assert "86" in root.locator('[data-stat="host"]').text_content()
    page.wait_for_function(f"() => {asked}.stage === 2 && {asked}.what === 'picture'")
    answer(page, part=parts.part(2))
    page.wait_for_function(f"() => {asked}.stage === 0 && {asked}.what === 'picture'")
    answer(page, part=parts.part(0))
    page.wait_for_function(f"() => {asked}.stage === 1 && {asked}.what === 'text'")
    answer(page, part=parts.part(1, "text"))
    assert root.locator('.byl-row[data-kind="added"]').count() > 10
    assert "is being computed" not in root.locator(".byl-diff").text_content()


def test_two_views_of_a_large_trace_are_both_drawn_when_a_part_arrives(new_page: NewPage) -> None:
    parts = Parts(mobilenet(), whole=False)
    page = new_page()
    mount(page, json.loads(json.dumps(parts.state)), index=1)
    page.evaluate("() => window.show(document.body.appendChild(document.createElement('div')))")
    page.wait_for_function("() => model.get('asked')?.what === 'picture'")
    answer(page, part=parts.part(1))
    for n in (0, 1):
        page.locator(".byl").nth(n).locator(".byl-box.byl-repeat").wait_for()


def test_rewrites_of_a_large_trace_send_the_graph_first(
    new_page: NewPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page requests the next rewrite in advance, then the text of the shown one."""
    monkeypatch.setattr(rewrites, "MAX_WITH_TEXT", 0)
    trace = mobilenet()
    parts = Parts(trace, whole=False)
    steps = Steps(trace, parts.ids, parts.follow)
    page = new_page()
    root = mount(page, json.loads(json.dumps(parts.state)), index=1)
    asked = "model.get('asked')"
    for n in (1, 1, 2, 0):
        page.wait_for_function(f"() => {asked}?.stage === {n} && {asked}.what === 'picture'")
        answer(page, part=parts.part(n))
    drawn(root)
    root.press(".")
    assert model(page, f"[{asked}.what, {asked}.rewrite]") == ["picture", 1]
    answer(page, step=steps.step(1, 1, "picture"))
    drawn(root)
    assert root.locator(".byl-fresh").count() > 0
    assert "is being computed" in root.locator(".byl-diff").text_content()
    page.wait_for_function(f"() => {asked}.what === 'ahead' && {asked}.rewrite === 2")
    answer(page)
    page.wait_for_function(f"() => {asked}.what === 'text' && {asked}.rewrite === 1")
    answer(page, step=steps.step(1, 1, "text"))
    root.locator('.byl-row[data-kind="added"]').first.wait_for()
    assert "is being computed" not in root.locator(".byl-diff").text_content()
    page.wait_for_function(f"() => {asked}.what === 'text' && !{asked}.rewrite")
