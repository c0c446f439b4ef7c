"""The stepper in a browser: the text of a stage and its differences."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.lab.diffing import diff
from byoc_lab.lab.view.states.state import diff_state, module_state, trace_state
from byoc_lab.passes.framework.infer_type import InferType
from tests.lab.view.samples import annotated, chain, network

from .widget_page import NewPage, lines, mount

pytestmark = pytest.mark.browser


def test_stages_and_differences_are_drawn(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    assert root.get_attribute("data-ready") == "true"
    assert root.get_attribute("data-index") == "1"
    assert root.locator("[role=option]").count() == 3
    assert root.locator('[role=option][aria-selected="true"]').get_attribute("data-index") == "1"
    assert root.locator(".byl-position").text_content() == "2 / 3"
    added = root.locator('.byl-row[data-kind="added"]')
    assert added.count() > 5
    assert {t.strip() for t in added.locator(".byl-sign").all_text_contents()} == {"+"}
    tint = "(line) => getComputedStyle(line).backgroundColor"
    same = root.locator('.byl-row[data-kind="same"] code').first
    new = root.locator('.byl-row[data-kind="added"] code').first
    assert new.evaluate(tint) != same.evaluate(tint), "the line itself is coloured, not its number"
    chip = root.locator('[data-stat="regions"]')
    assert chip.text_content() == "0 → 2 regions"


def test_annotation_and_operator_of_a_region_have_different_backgrounds(
    new_page: NewPage,
) -> None:
    """The text of an annotation has a light colour, close to the background of operators."""
    twice = 'annotation.compiler_begin(annotation.compiler_begin(%x, compiler="A"), compiler="A")'
    text = f"def @main(%x: Tensor[(2), float32]) {{ exp(nn.relu({twice})) }}"
    root = mount(new_page(), module_state(relay.parse(text)))
    ground = "(border) => getComputedStyle(border).fill"
    begin, operator = (root.locator(f".byl-{c} > .byl-border").first for c in ("begin", "op"))
    assert begin.evaluate(ground) != operator.evaluate(ground)
    words = root.locator(".byl-begin > text").first
    assert words.evaluate(ground) != begin.evaluate(ground)


def test_text_on_the_page_equals_the_module(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=2)  # the stage that failed: one module, nothing cut
    for button in root.locator(".byl-more").all():
        button.click()
    module = chain_state["modules"][chain_state["stages"][2]["before"]]
    assert lines(root, "b") == [text for text, _ in module["lines"]]


def test_split_toggle_shows_the_texts_unified(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    pane = root.locator(".byl-diff")
    assert pane.get_attribute("data-layout") == "unified", "the text is narrow"
    root.press("s")
    assert pane.get_attribute("data-layout") == "split"
    assert len(lines(root, "b")) > 0
    root.locator('[data-toggle="split"]').click()
    assert pane.get_attribute("data-layout") == "unified"


def test_changed_words_are_marked_and_renumbered_variables_are_not(
    new_page: NewPage, chain_state: Any
) -> None:
    root = mount(new_page(), chain_state, index=1)
    root.press("s")
    row = root.locator('.byl-row[data-kind="changed"]').first
    before = row.locator('code[data-side="b"] .byl-word').all_text_contents()
    assert before == ["%data", "%layer1_weight"]
    after = row.locator('code[data-side="a"] .byl-word').all_text_contents()
    assert after == ["%0", "%1"]


def test_types_are_hidden_until_requested(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    types = root.locator(".byl-row.byl-added .byl-t-type").first
    assert not types.is_visible()
    root.press("t")
    assert root.locator(".byl-row.byl-added .byl-t-type").first.is_visible()


def test_change_of_types_alone_is_shown(new_page: NewPage) -> None:
    state = trace_state(chain())
    stage = state["stages"][1]
    for side, dtype in (("before", "int32"), ("after", "int8")):
        lines_ = state["modules"][stage[side]]["lines"]
        lines_[1] = (f"  %0 = f(%x) /* ty={dtype} */;", lines_[1][1])
    stage["hunks"] = [["~", 1, 1, 1]]
    root = mount(new_page(), state, index=1)
    assert root.locator(".byl-typed .byl-t-type").first.is_visible()


def test_moved_lines_are_distinguished_from_new_lines(new_page: NewPage) -> None:
    """PartitionGraph moves operators into functions and removes the annotations."""
    root = mount(new_page(), trace_state(chain(fixed=True)), index=2)
    root.press("s")
    came = root.locator('.byl-moved-row[data-kind="moved"]')
    assert came.count() == 8
    for row in came.all():  # beside the old line
        was, now = row.locator("code").all_text_contents()
        assert was.split("(")[0].split()[-1] == now.split("(")[0].split()[-1]
        assert row.locator(".byl-sign").all_text_contents() == ["↗", "↘"]
    gone = root.locator(".byl-gone-away")
    assert gone.all_text_contents() == [
        "↗ 4 lines moved to @tvmgen_default_dnnl_main_0",
        "↗ 4 lines moved to @tvmgen_default_dnnl_main_6",
    ]
    gone.first.click()
    went = root.locator('[data-kind="removed"]', has_text="nn.relu")
    assert went.locator(".byl-sign").all_text_contents() == ["↗"]
    assert root.locator(".byl-op.byl-fresh").count() == 0, "no operator is new"
    assert root.locator(".byl-external.byl-fresh").count() == 2, "the functions are"
    went.first.locator("code .byl-t-op").click()
    assert came.filter(has_text="nn.relu").first.locator("code.byl-chosen").count() == 2


def test_operand_that_a_finding_names_is_underlined(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    assert root.locator(".byl-wrong").all_text_contents() == ["%10"]


def test_unchanged_lines_are_folded_until_opened(new_page: NewPage, mobilenet_state: Any) -> None:
    state = copy.deepcopy(mobilenet_state)
    stage = state["stages"][0]
    count = len(state["modules"][stage["after"]]["lines"])
    stage["hunks"] = [["=", 0, 0, 40], ["~", 40, 40, 1], ["=", 41, 41, count - 41]]
    root = mount(new_page(), state)
    folds = root.locator(".byl-fold")
    assert folds.all_text_contents() == [
        "⋯ 37 unchanged lines",
        f"⋯ {count - 41 - 3} unchanged lines",
    ]
    shown = root.locator(".byl-row").count()
    folds.first.click()
    assert root.locator(".byl-row").count() == shown + 37
    assert folds.count() == 1


def test_very_long_line_is_truncated_until_opened(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    header = root.locator('code[data-side="a"]').first
    shown = header.text_content()
    assert "more characters" in shown and "%layer1_bn_var" not in shown
    assert shown.endswith(" {"), "both ends are kept"
    header.locator(".byl-more").click()
    assert "%layer1_bn_var" in header.text_content()


def test_failed_stage_shows_its_error(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=2)
    box = root.locator(".byl-error-box[role=alert]")
    assert "FreeVariableError" in box.text_content()
    assert root.locator("[role=option]").last.locator(".byl-failed").text_content() == "✖ failed"
    assert root.locator(".byl-diff").get_attribute("data-layout") == "single"


def test_single_module_has_no_stages(new_page: NewPage) -> None:
    mod = annotated(fixed=True)
    root = mount(new_page(), module_state(mod))
    assert not root.locator(".byl-stages").is_visible()
    assert not root.locator(".byl-nav").count()
    assert [t.get_attribute("data-tab") for t in root.locator("[role=tab]").all()] == [
        "text",
        "findings",
    ]
    assert root.locator("code").count() == len(mod.astext(False, header=False).splitlines())


def test_difference_without_a_trace_is_drawn(new_page: NewPage) -> None:
    root = mount(new_page(), diff_state(diff(InferType()(network()), annotated(fixed=True))))
    assert root.locator('.byl-row[data-kind="added"]').count() > 5
