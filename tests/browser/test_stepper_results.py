"""Result tables in a browser: selecting a row highlights its box and the reverse, by pointer and
keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.view.stepper import Stepper
from tests.lab.view.states.test_overlays import network
from tests.lab.view.states.test_tables import comparison, sites, symbols

from .test_access import HOST, violations
from .widget_page import NewPage, drawn, mount

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def stepper() -> Stepper:
    """A trace with an error for each operator: too large for the convolution, acceptable for the
    product."""
    mod = network()
    trace = byoc_lab.trace(mod, "dnnl")
    first, second = symbols(trace)
    conv, dense = sites(trace, first)[0], sites(trace, second)[0]
    regions = (comparison(f"@{first}", 0.6), comparison(f"@{second}", 0.1))
    operators = (comparison("conv", 3.0, conv), comparison("dense", 0.05, dense))
    report = Report(regions, (), operators)
    return Stepper(
        trace, overlays=[report, byoc_lab.explain(mod, "dnnl"), byoc_lab.coverage(mod, "dnnl")]
    )


def state_with(stepper: Stepper) -> dict[str, Any]:
    return {**stepper.state, "overlays": stepper.overlays}


def lit(root: Any) -> list[str]:
    return root.locator("tr.byl-chosen th").all_text_contents()


def test_selected_row_highlights_its_box_and_selected_box_its_row(
    new_page: NewPage, stepper: Stepper
) -> None:
    root = mount(new_page(), state_with(stepper))
    root.press("6")
    assert root.locator("[data-result]").all_text_contents() == ["validate", "explain", "coverage"]
    rows = root.locator(".byl-results tbody tr")
    assert rows.first.locator("th").text_content() == "✖ conv"
    region = rows.filter(has_text="main_0").locator("td").last
    region.click()
    drawn(root)
    assert root.get_attribute("data-index") == "9", "the first stage did not have the region"
    assert "main_0" in root.locator(".byl-scene .byl-chosen").text_content()
    rows.first.locator("td").last.click()
    chosen = root.locator(".byl-scene .byl-box.byl-chosen")
    assert "nn.conv2d" in chosen.text_content()
    assert lit(root) == ["✖ conv"]
    root.locator(".byl-scene .byl-box", has_text="nn.bias_add").click()
    assert len(lit(root)) == 1 and lit(root)[0].startswith("@"), "the row of its region"
    root.locator("[data-result='2']").click()
    assert "nn.batch_flatten" in rows.first.text_content(), "operators on the host are listed first"


def test_rows_are_selected_by_keyboard(new_page: NewPage, stepper: Stepper) -> None:
    page = new_page()
    root = mount(page, state_with(stepper), index=9)
    root.press("6")
    page.keyboard.press("Tab")
    root.locator(".byl-results tbody button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert len(lit(root)) == 1
    current = root.locator(".byl-results [aria-current]")
    assert current.text_content() == lit(root)[0]
    assert page.evaluate("document.activeElement.getAttribute('aria-current')") == "true"


def test_errors_per_operator_are_shown_at_their_boxes(new_page: NewPage, stepper: Stepper) -> None:
    root = mount(new_page(), state_with(stepper), index=9)
    root.locator(".byl-overlays").select_option("error")
    box = root.locator(".byl-scene .byl-box", has_text="nn.conv2d")
    assert "✖ 3.0 " in box.text_content()
    assert "as a share of its tolerance" in root.locator(".byl-scale").text_content()
    assert root.locator(".byl-frame > .byl-value").count() == 2, (
        "the regions are open, and have numbers, too"
    )


def test_results_tab_appears_only_with_results(new_page: NewPage, stepper: Stepper) -> None:
    page = new_page()
    root = mount(page, stepper.state)
    tab = root.locator('[data-tab="results"]')
    assert tab.is_hidden()
    root.press("6")
    assert root.locator(".byl-panel-results").is_hidden()
    page.evaluate("(sent) => model.set('overlays', sent)", stepper.overlays)
    assert tab.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_result_tables(
    new_page: NewPage, stepper: Stepper, scheme: str
) -> None:
    page = new_page(color_scheme=scheme, reduced_motion="reduce")
    root = mount(page, state_with(stepper), index=9)
    root.press("6")
    root.locator(".byl-overlays").select_option("error")
    root.locator(".byl-results tbody button").first.click()
    assert violations(page, HOST) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_saved_page_has_result_tables_and_reasons(
    new_page: NewPage, stepper: Stepper, scheme: str, tmp_path: Path
) -> None:
    page = new_page(color_scheme=scheme, reduced_motion="reduce")
    page.goto(stepper.save_html(tmp_path / "page.html").as_uri())
    root = page.locator(".byl[data-ready]")
    root.press("End")
    drawn(root)
    root.locator(".byl-reason-badge").click()
    reason = root.locator(".byl-why-host").text_content()
    assert "On the host: needs-pass" in reason and "change to try" in reason
    root.press("6")
    root.locator(".byl-results tbody button").first.click()
    assert "nn.conv2d" in root.locator(".byl-box.byl-chosen").text_content()
    assert violations(page, []) == []
