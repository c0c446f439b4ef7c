"""The stepper in a browser: a selected node is selected in text, graph and panels."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from .widget_page import TALL, NewPage, drawn, model, mount

pytestmark = pytest.mark.browser


def conv_id(state: Any, module: int) -> str:
    return next(i for text, i in state["modules"][module]["lines"] if "nn.conv2d(" in text)


def test_selected_line_selects_its_node_everywhere(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state, index=1)
    ident = conv_id(chain_state, chain_state["stages"][1]["after"])
    root.locator(f'code[data-side="a"][data-id="{ident}"] .byl-t-op').click()
    assert root.get_attribute("data-selected") == ident
    chosen = root.locator("code.byl-chosen")
    assert {c.get_attribute("data-side") for c in chosen.all()} == {"a", "b"}
    box = root.locator(".byl-box.byl-chosen")
    assert box.get_attribute("data-ids").split()[0] == ident
    assert model(page, "model.sent[0]") == {"index": 1, "selected": ident}


def test_selection_stays_from_stage_to_stage(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state)
    ident = conv_id(chain_state, 0)
    root.locator(f'code[data-id="{ident}"] .byl-t-op').first.click()
    root.press("j")
    assert root.locator("code.byl-chosen").count() == 2
    assert root.locator(".byl-box.byl-chosen").count() == 1


def test_selected_box_selects_its_line(new_page: NewPage, mobilenet_state: Any) -> None:
    root = mount(new_page(viewport=TALL), mobilenet_state)
    root.get_by_title("Open all groups").click()
    drawn(root)
    box = root.locator(".byl-box.byl-op").nth(8)
    ident = box.get_attribute("data-ids").split()[0]
    box.click()
    assert root.get_attribute("data-selected") == ident
    assert root.locator(f'code.byl-chosen[data-id="{ident}"]').first.is_visible()


def test_selected_variable_in_the_text_selects_its_value(
    new_page: NewPage, chain_state: Any
) -> None:
    root = mount(new_page(), chain_state, index=1)
    module = chain_state["modules"][chain_state["stages"][1]["after"]]
    root.locator('code[data-side="a"] span[data-id]', has_text=re.compile(r"^%2$")).last.click()
    assert root.get_attribute("data-selected") == module["names"]["%2"]
    assert root.locator('code[data-side="a"] span.byl-chosen').count() == 2, "defined, used"


def test_escape_or_a_second_click_clears_the_selection(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    line = root.locator('code[data-side="a"] .byl-t-op').first
    line.click()
    assert root.get_attribute("data-selected")
    line.click()
    assert root.get_attribute("data-selected") == ""
    line.click()
    root.press("Escape")
    assert root.get_attribute("data-selected") == ""
    assert root.locator(".byl-chosen").count() == 0


def test_selection_opens_the_fold_that_hides_the_line(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    state = copy.deepcopy(mobilenet_state)
    stage = state["stages"][0]
    module = state["modules"][stage["after"]]
    count = len(module["lines"])
    stage["hunks"] = [["~", 0, 0, 1], ["=", 1, 1, count - 1]]
    page = new_page()
    root = mount(page, state)
    ident = module["lines"][count // 2][1]
    assert root.locator(f'code[data-id="{ident}"]').count() == 0
    page.evaluate("(id) => model.set('selected_id', id)", ident)
    assert root.locator(f'code.byl-chosen[data-id="{ident}"]').first.is_visible()


def test_findings_link_to_their_node_and_back(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    (finding,) = chain_state["modules"][chain_state["stages"][1]["after"]]["findings"]
    assert root.locator('[data-tab="findings"]').text_content() == "Findings1"
    mark = root.locator(".byl-mark.byl-error")
    mark.click()
    panel = root.locator('[data-panel="findings"]')
    assert panel.is_visible()
    card = panel.locator(".byl-finding")
    for part in (finding["code"], finding["message"], finding["what_to_do"], "new in this stage"):
        assert part in card.text_content()
    assert root.get_attribute("data-selected") == finding["node"]
    root.press("Escape")
    card.click()
    assert root.locator(".byl-box.byl-chosen").is_visible()
    root.press("1")
    assert root.locator(f'code.byl-chosen[data-id="{finding["node"]}"]').first.is_visible()


def test_finding_marks_its_box_and_the_edge(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    (finding,) = chain_state["modules"][chain_state["stages"][1]["after"]]["findings"]
    flagged = root.locator(".byl-box:has(.byl-flag)")
    assert finding["node"] in flagged.get_attribute("data-ids").split()
    assert root.locator(".byl-crossing").count() == 1


def test_rewrites_and_changes_link_to_nodes(new_page: NewPage, mobilenet_state: Any) -> None:
    root = mount(new_page(), mobilenet_state, index=1)
    stage = mobilenet_state["stages"][1]
    root.press("3")
    cards = root.locator('[data-panel="rewrites"] .byl-card')
    assert cards.count() == 27
    assert stage["events"][0]["reason"] in cards.first.text_content()
    cards.nth(5).click()
    assert root.get_attribute("data-selected") == stage["events"][5]["after"]
    drawn(root)
    root.locator(".byl-box.byl-chosen").wait_for()
    root.press("1")
    assert root.locator("code.byl-chosen").first.is_visible()
    root.press("4")
    assert root.locator('[data-panel="changes"] .byl-card').count() == stage["changes_total"]


def test_rule_shows_its_page_and_pass_shows_its_source(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    root.press("2")
    rule = root.locator('[data-about="BYL001"]')
    rule.locator("summary").first.click()
    assert "BYL001 missing-begin" in rule.locator("pre").first.text_content()
    rule.get_by_text("Source").click()
    assert "def check" in rule.locator("pre").last.text_content()
    root.press("End")
    root.press("3")
    assert root.locator('[data-about="PartitionGraph"]').is_visible()


def test_folded_constant_shows_its_origins(new_page: NewPage, mobilenet_state: Any) -> None:
    n = next(n for n, s in enumerate(mobilenet_state["stages"]) if s["name"] == "FoldConstant")
    root = mount(new_page(), mobilenet_state, index=n)
    constant = root.locator('code[data-side="a"] .byl-t-const', has_text="[1]").first
    constant.click()
    assert root.get_attribute("data-selected") == constant.get_attribute("data-id")
    root.get_by_role("tab", name="Node").click()
    said = root.locator(".byl-computed").text_content()
    assert said.startswith("FoldConstant computed it from moving_var and gamma of nn.batch_norm %1")
    assert "sqrt(add(moving_var, 1e-05))" in said
    root.get_by_role("tab", name="Text").click()
    root.locator('code[data-side="a"] .byl-t-op', has_text="multiply").first.click()
    root.get_by_role("tab", name="Node").click()
    assert root.locator(".byl-computed").text_content() == said, (
        "the user of the constant shows the same origin"
    )
