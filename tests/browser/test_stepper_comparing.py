"""The stepper in a browser: caption, errors, findings by key, playing, comparing stages,
history."""

from __future__ import annotations

import re
from typing import Any

import pytest

from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.rewrites import with_steps
from byoc_lab.lab.view.states.state import Builder, trace_state
from tests.lab.view.samples import chain

from .widget_page import TALL, NewPage, lines, model, mount

pytestmark = pytest.mark.browser


def test_error_shows_its_explanation_and_folds_its_text(
    new_page: NewPage, chain_state: Any
) -> None:
    root = mount(new_page(), chain_state, index=chain_state["opens"])
    caption = root.locator(".byl-caption").text_content()
    assert caption == "The pipeline stops here: PartitionGraph raised FreeVariableError."
    box = root.locator(".byl-error-box")
    assert box.locator("p").first.text_content().startswith("✖ BYL001 missing-begin")
    assert not box.locator("pre").is_visible()
    box.locator("summary").click()
    assert "free_var %layer1_weight" in box.locator("pre").text_content()
    box.locator(".byl-why").click()
    assert root.locator('[data-panel="findings"]').is_visible()
    assert root.get_attribute("data-selected")


def test_key_f_moves_to_findings_of_this_and_other_stages(
    new_page: NewPage, chain_state: Any
) -> None:
    root = mount(new_page(), chain_state, index=0)
    found = [n for n, s in enumerate(chain_state["stages"]) if _findings(chain_state, s)]
    root.press("f")
    assert root.get_attribute("data-index") == str(found[0])
    assert root.locator(".byl-now").text_content().startswith("✖BYL001")
    root.press("f")
    assert root.get_attribute("data-index") == str(found[1])
    root.press("F")
    root.press("F")
    assert root.get_attribute("data-index") == str(found[0])


def _findings(state: Any, stage: Any) -> int:
    which = stage["before"] if stage["after"] is None else stage["after"]
    return len(state["modules"][which]["findings"])


def test_play_shows_the_rewrites_and_then_the_stages(new_page: NewPage) -> None:
    trace = chain(fixed=True)
    builder = Builder(Ids())
    state = with_steps(trace, builder.ids, builder.trace(trace))
    page = new_page()
    root = mount(page, state, index=1)
    root.locator(".byl-speed").select_option("0.5")
    root.focus()
    root.press(" ")
    assert root.locator(".byl-play").get_attribute("aria-pressed") == "true"
    root.press(" ")
    root.get_by_text("▶ Play").wait_for()
    assert model(page, "model.get('index')") in (1, 2), "a beat is three seconds"
    page.evaluate("() => { model.set('rewrite', 0); model.set('index', 1); }")
    root.locator(".byl-speed").select_option("16")
    root.focus()
    root.press(" ")
    page.wait_for_selector('.byl[data-index="2"]')
    total = state["stages"][2]["events_total"]
    page.wait_for_function("(k) => model.get('rewrite') === k", arg=total)
    root.get_by_text("▶ Play").wait_for()  # playing stops at the last stage
    slider = root.locator(".byl-line")
    slider.fill("1")
    assert model(page, "model.get('rewrite')") == 1
    assert slider.get_attribute("aria-valuetext") == f"rewrite 1 of {total}"


def test_any_two_stages_can_be_compared(new_page: NewPage, mobilenet_state: Any) -> None:
    page = new_page(viewport=TALL)
    root = mount(page, mobilenet_state, index=8)
    root.press("g")
    stages, modules = mobilenet_state["stages"], mobilenet_state["modules"]
    root.locator(".byl-compare").select_option("3")  # compares with the result of FoldConstant
    for fold in root.locator(".byl-fold:not(.byl-gone-away)").all():
        fold.click()
    assert len(lines(root)) == len(modules[stages[8]["after"]]["lines"])
    host = root.locator('[data-stat="host"]').text_content()
    was = modules[stages[2]["after"]]["stats"]["host"]
    assert host == f"{was} → 1 operator on the host"
    root.focus()
    root.press("Escape")
    assert root.locator(".byl-compare").input_value() == ""
    root.locator(".byl-compare").select_option("0")
    root.focus()
    root.press("ArrowLeft")
    assert root.locator(".byl-compare").input_value() == "", (
        "a newly shown stage is compared with its own input"
    )


def test_history_of_a_node_links_to_its_stages(new_page: NewPage, mobilenet_state: Any) -> None:
    page = new_page()
    root = mount(page, mobilenet_state, index=8)
    root.press("5")
    names = mobilenet_state["modules"][mobilenet_state["stages"][0]["before"]]["names"]
    page.evaluate("(id) => model.set('selected_id', id)", names["%0"])
    history = root.locator(".byl-history")
    assert history.locator("li b").first.text_content() == "Input"
    told = " ".join(history.locator("li").all_text_contents())
    assert "AnnotateTarget" not in told or "nn.conv2d" in told
    assert "in @tvmgen_default_dnnl_main_0" in told
    history.locator("[data-stage='0']").first.click()
    assert root.get_attribute("data-index") == "0"
    assert root.get_attribute("data-selected") == names["%0"]


def test_origins_and_results_of_the_selected_node_are_highlighted(new_page: NewPage) -> None:
    root = mount(new_page(), trace_state(chain(fixed=True)), index=2)
    root.press("s")
    assert root.locator(".byl-related").count() == 0
    root.locator("code", has_text="@tvmgen_default_dnnl_main_0(").first.click()
    assert root.locator(".byl-chosen").count() > 0
    assert root.locator(".byl-related").count() > 0


def test_moved_calls_are_shown_beside_their_old_lines(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    page = new_page(viewport=TALL)
    root = mount(page, mobilenet_state, index=8)
    assert "85 calls and 27 composites moved into 31 functions (" in (
        root.locator(".byl-caption").text_content()
    )
    root.press("g")
    root.press("s")
    moved = root.locator(".byl-moved-row", has_text="nn.conv2d(")
    assert moved.count() == 27
    for row in moved.all()[:5]:
        was, now = row.locator("code").all_text_contents()
        assert "nn.conv2d(" in was and "nn.conv2d(" in now
    notes = root.locator(".byl-gone-away").all_text_contents()
    assert any(re.fullmatch(r"↗ \d+ lines? moved to @tvmgen_default_dnnl_main_0", n) for n in notes)


def test_comparison_can_skip_stages(new_page: NewPage, mobilenet_state: Any) -> None:
    """FoldConstant against the input hides operators that SimplifyInference adds and
    FoldConstant removes."""
    root = mount(new_page(viewport=TALL), mobilenet_state, index=2)
    root.locator(".byl-compare").select_option("0")
    rows = root.locator('.byl-row:not([data-kind="same"])').all_text_contents()
    assert rows and not any("sqrt(" in row for row in rows)
    assert any("nn.batch_norm(" in row for row in rows)
