"""The stepper in a browser: drawing, keys, clicks, choosing, filtering, cleaning up."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from byoc_lab.diff import diff
from byoc_lab.passes.infer_type import InferType
from byoc_lab.view.rewrites import step_of, with_steps
from byoc_lab.view.state import Builder, Ids, diff_state, module_state, trace_state
from tests.view.samples import annotated, chain, mobilenet, network

from .widget_page import model, mount

pytestmark = pytest.mark.browser
NewPage = Callable[..., Any]


@pytest.fixture(scope="module")
def chain_state() -> dict[str, Any]:
    return trace_state(chain())


@pytest.fixture(scope="module")
def mobilenet_state() -> dict[str, Any]:
    return trace_state(mobilenet())


def lines(root: Any, side: str = "a") -> list[str]:
    return root.locator(f'code[data-side="{side}"]').all_text_contents()


# ---- drawing ------------------------------------------------------------------------------------


def test_it_draws_the_stages_and_the_difference(new_page: NewPage, chain_state: Any) -> None:
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


def test_the_text_on_the_page_is_the_module(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=2)  # the stage that failed: one module, nothing cut
    for button in root.locator(".byl-more").all():
        button.click()
    module = chain_state["modules"][chain_state["stages"][2]["before"]]
    assert lines(root, "b") == [text for text, _ in module["lines"]]


def test_side_by_side_and_below_each_other(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    pane = root.locator(".byl-diff")
    assert pane.get_attribute("data-layout") == "split"
    assert len(lines(root, "b")) > 0
    root.press("s")
    assert pane.get_attribute("data-layout") == "unified"
    root.locator('[data-toggle="split"]').click()
    assert pane.get_attribute("data-layout") == "split"


def test_words_that_changed_are_marked_and_numbers_are_not(
    new_page: NewPage, chain_state: Any
) -> None:
    root = mount(new_page(), chain_state, index=1)
    row = root.locator('.byl-row[data-kind="changed"]').first
    before = row.locator('code[data-side="b"] .byl-word').all_text_contents()
    assert before == ["%data", "%layer1_weight"]
    after = row.locator('code[data-side="a"] .byl-word').all_text_contents()
    assert after == ["%0", "%1"]


def test_types_are_hidden_until_asked_for(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    types = root.locator(".byl-row.byl-added .byl-t-type").first
    assert not types.is_visible()
    root.press("t")
    assert root.locator(".byl-row.byl-added .byl-t-type").first.is_visible()


def test_a_change_of_types_alone_is_shown(new_page: NewPage) -> None:
    state = trace_state(chain(), graphs=False)
    stage = state["stages"][1]
    lines_ = state["modules"][stage["after"]]["lines"]
    lines_[1][0] = "  %0 = f(%x) /* ty=int8 */;"
    state["modules"][stage["before"]]["lines"][1][0] = "  %0 = f(%x) /* ty=int32 */;"
    stage["hunks"] = [["~", 1, 1, 1]]
    root = mount(new_page(), state, index=1)
    assert root.locator(".byl-typed .byl-t-type").first.is_visible()


def test_lines_that_moved_are_told_from_new_ones(new_page: NewPage) -> None:
    """PartitionGraph moves operators out into functions; the annotations it drops are gone."""
    root = mount(new_page(), trace_state(chain(fixed=True)), index=2)
    went = root.locator('.byl-moved-row[data-kind="removed"]')
    came = root.locator('.byl-moved-row[data-kind="added"]')
    assert went.count() == came.count() == 8
    assert set(went.locator(".byl-sign").all_text_contents()) == {"↗"}
    assert set(came.locator(".byl-sign").all_text_contents()) == {"↘"}
    assert "compiler_begin" not in " ".join(went.all_text_contents())
    assert root.locator(".byl-fresh").count() == 0, "no operator is new"
    went.first.locator("code .byl-t-op").click()
    assert came.first.locator("code.byl-chosen").is_visible()


def test_the_operand_that_a_finding_is_about_is_underlined(
    new_page: NewPage, chain_state: Any
) -> None:
    root = mount(new_page(), chain_state, index=1)
    assert root.locator(".byl-wrong").all_text_contents() == ["%10"]


def test_unchanged_runs_are_folded_and_open(new_page: NewPage, mobilenet_state: Any) -> None:
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


def test_a_very_long_line_is_cut_until_asked_for(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    header = root.locator('code[data-side="a"]').first
    shown = header.text_content()
    assert "more characters" in shown and "%layer1_bn_var" not in shown
    assert shown.endswith(" {"), "both ends are kept"
    header.locator(".byl-more").click()
    assert "%layer1_bn_var" in header.text_content()


def test_a_stage_that_failed_says_why(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=2)
    box = root.locator(".byl-error-box[role=alert]")
    assert "FreeVariableError" in box.text_content()
    assert root.locator("[role=option]").last.locator(".byl-failed").text_content() == "✖ failed"
    assert root.locator(".byl-diff").get_attribute("data-layout") == "single"


def test_one_module_has_no_stages(new_page: NewPage) -> None:
    mod = annotated(fixed=True)
    root = mount(new_page(), module_state(mod))
    assert not root.locator(".byl-stages").is_visible()
    assert not root.locator(".byl-nav").count()
    assert [t.get_attribute("data-tab") for t in root.locator("[role=tab]").all()] == [
        "graph",
        "findings",
    ]
    assert root.locator("code").count() == len(mod.astext(False, header=False).splitlines())


def test_a_difference_alone(new_page: NewPage) -> None:
    root = mount(new_page(), diff_state(diff(InferType()(network()), annotated(fixed=True))))
    assert root.locator('.byl-row[data-kind="added"]').count() > 5


# ---- stepping -----------------------------------------------------------------------------------


def test_buttons_step_and_python_hears_of_it(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    root.locator(".byl-next").click()
    assert root.get_attribute("data-index") == "1"
    assert model(page, "model.sent") == [{"index": 1, "selected": ""}]
    root.locator(".byl-previous").click()
    root.locator(".byl-previous").click(force=True)  # there is none before the first
    assert root.get_attribute("data-index") == "0"
    assert root.locator(".byl-previous").get_attribute("aria-disabled") == "true"
    root.locator("[role=option]").last.click()
    assert root.get_attribute("data-index") == "2"


@pytest.mark.parametrize(
    ("start", "key", "end"),
    [
        (0, "ArrowRight", 1),
        (0, "j", 1),
        (1, "ArrowLeft", 0),
        (1, "k", 0),
        (0, "End", 2),
        (2, "Home", 0),
        (2, "ArrowRight", 2),
    ],
)
def test_keys_step(new_page: NewPage, chain_state: Any, start: int, key: str, end: int) -> None:
    root = mount(new_page(), chain_state, index=start)
    root.press(key)
    assert root.get_attribute("data-index") == str(end)


def test_keys_go_on_working_at_the_last_stage(new_page: NewPage, chain_state: Any) -> None:
    """A button that were disabled under the pointer would drop the focus."""
    page = new_page()
    root = mount(page, chain_state, index=1)
    root.locator(".byl-next").click()
    page.keyboard.press("ArrowLeft")
    assert root.get_attribute("data-index") == "1"


def test_keys_elsewhere_on_the_page_are_not_heard(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    assert root.get_attribute("data-index") == "0"


def test_keys_with_modifiers_are_left_to_the_page(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state)
    root.press("Control+ArrowRight")
    assert root.get_attribute("data-index") == "0"


def test_python_steps(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    page.evaluate("() => model.set('index', 2)")
    assert root.get_attribute("data-index") == "2"
    assert model(page, "model.sent") == []


def test_stepping_is_announced(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state)
    root.press("j")
    assert root.locator("[aria-live=polite]").text_content() == (
        "Stage 2 of 3: Annotate, changed, 0 rewrites, 1 findings"
    )


def test_filter_and_changed_only(new_page: NewPage, mobilenet_state: Any) -> None:
    page = new_page()
    root = mount(page, mobilenet_state)
    total = len(mobilenet_state["stages"])
    changed = [n for n, s in enumerate(mobilenet_state["stages"]) if s["changed"]]
    shown = root.locator("[role=option]:visible")
    assert shown.count() == total
    root.press("c")
    assert shown.count() == len(changed)
    root.press("j")
    assert int(root.get_attribute("data-index")) == next(n for n in changed if n > 0)
    root.press("c")
    root.press("/")
    page.keyboard.type("fold")
    names = [s["name"] + s["group"] for s in mobilenet_state["stages"]]
    assert shown.count() == sum("fold" in n.lower() for n in names)
    page.keyboard.type("zzz")
    assert root.locator(".byl-empty:visible").first.text_content() == "No pass matches."
    page.keyboard.press("Escape")
    assert shown.count() == total
    page.keyboard.press("End")
    assert root.get_attribute("data-index") == str(total - 1)


def test_typing_in_the_filter_is_not_a_command(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    root.press("/")
    page.keyboard.type("jjw")
    assert root.get_attribute("data-index") == "0"
    assert root.locator(".byl-filter").input_value() == "jjw"


def test_help_opens_and_closes(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state)
    root.press("?")
    assert root.locator("[role=dialog]").is_visible()
    root.press("Escape")
    assert not root.locator("[role=dialog]").is_visible()


def test_jumping_from_change_to_change(new_page: NewPage, mobilenet_state: Any) -> None:
    root = mount(new_page(), mobilenet_state, index=1)
    root.press("n")
    first = root.locator(".byl-here code").last.get_attribute("data-line")
    root.press("n")
    second = root.locator(".byl-here code").last.get_attribute("data-line")
    root.press("p")
    assert root.locator(".byl-here code").last.get_attribute("data-line") == first != second


# ---- choosing a node ----------------------------------------------------------------------------


def conv_id(state: Any, module: int) -> str:
    return next(i for text, i in state["modules"][module]["lines"] if "nn.conv2d(" in text)


def test_a_line_chooses_its_node_everywhere(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state, index=1)
    ident = conv_id(chain_state, chain_state["stages"][1]["after"])
    root.locator(f'code[data-side="a"][data-id="{ident}"] .byl-t-op').click()
    assert root.get_attribute("data-selected") == ident
    chosen = root.locator("code.byl-chosen")
    assert {c.get_attribute("data-side") for c in chosen.all()} == {"a", "b"}
    box = root.locator(".byl-box.byl-chosen")
    assert box.get_attribute("data-ids").split()[0] == ident
    assert model(page, "model.sent") == [{"index": 1, "selected": ident}]


def test_the_choice_stays_from_stage_to_stage(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state)
    ident = conv_id(chain_state, 0)
    root.locator(f'code[data-id="{ident}"] .byl-t-op').first.click()
    root.press("j")
    assert root.locator("code.byl-chosen").count() == 2
    assert root.locator(".byl-box.byl-chosen").count() == 1


def test_a_box_chooses_its_line(new_page: NewPage, mobilenet_state: Any) -> None:
    root = mount(new_page(), mobilenet_state)
    box = root.locator(".byl-box.byl-op").nth(8)
    ident = box.get_attribute("data-ids").split()[0]
    box.click()
    assert root.get_attribute("data-selected") == ident
    assert root.locator(f'code.byl-chosen[data-id="{ident}"]').first.is_visible()


def test_a_variable_in_the_text_chooses_what_it_stands_for(
    new_page: NewPage, chain_state: Any
) -> None:
    root = mount(new_page(), chain_state, index=1)
    module = chain_state["modules"][chain_state["stages"][1]["after"]]
    root.locator('code[data-side="a"] span[data-id]', has_text=re.compile(r"^%2$")).last.click()
    assert root.get_attribute("data-selected") == module["names"]["%2"]
    assert root.locator('code[data-side="a"] span.byl-chosen').count() == 2, "defined, used"


def test_escape_and_a_second_click_let_go(new_page: NewPage, chain_state: Any) -> None:
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


def test_choosing_opens_the_fold_that_hides_the_line(
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
    page.evaluate("(id) => model.set('selected', id)", ident)
    assert root.locator(f'code.byl-chosen[data-id="{ident}"]').first.is_visible()


def test_findings_lead_to_their_node_and_back(new_page: NewPage, chain_state: Any) -> None:
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
    assert root.locator(f'code.byl-chosen[data-id="{finding["node"]}"]').first.is_visible()


def test_a_finding_flags_its_box_and_the_edge(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state, index=1)
    (finding,) = chain_state["modules"][chain_state["stages"][1]["after"]]["findings"]
    flagged = root.locator(".byl-box:has(.byl-flag)")
    assert finding["node"] in flagged.get_attribute("data-ids").split()
    assert root.locator(".byl-crossing").count() == 1


def test_rewrites_and_changes_lead_to_nodes(new_page: NewPage, mobilenet_state: Any) -> None:
    root = mount(new_page(), mobilenet_state, index=1)
    stage = mobilenet_state["stages"][1]
    root.press("3")
    cards = root.locator('[data-panel="rewrites"] .byl-card')
    assert cards.count() == 27
    assert stage["events"][0]["reason"] in cards.first.text_content()
    cards.nth(5).click()
    assert root.get_attribute("data-selected") == stage["events"][5]["after"]
    assert root.locator("code.byl-chosen").first.is_visible()
    root.press("4")
    assert root.locator('[data-panel="changes"] .byl-card').count() == stage["changes_total"]


# ---- the graph ----------------------------------------------------------------------------------


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


# ---- being a good guest -------------------------------------------------------------------------

HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'


def test_text_from_a_module_is_never_markup(new_page: NewPage, chain_state: Any) -> None:
    state = copy.deepcopy(chain_state)
    state["title"] = HOSTILE
    for module in state["modules"]:
        for line in module["lines"]:
            line[0] += HOSTILE
        module["names"][HOSTILE] = HOSTILE
        for finding in module["findings"]:
            finding.update(message=HOSTILE, what_to_do=HOSTILE, name=HOSTILE)
        module["graph"] = (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" onload="window.hurt=1">'
            '<script>window.hurt=1</script><g class="byl-zoom"><foreignObject>'
            '<body xmlns="http://www.w3.org/1999/xhtml"><img src="x" onerror="window.hurt=1"/>'
            '</body></foreignObject><a href="javascript:window.hurt=1"><text>t</text></a></g></svg>'
        )
    for stage in state["stages"]:
        stage.update(name=HOSTILE, summary=HOSTILE, skipped=HOSTILE, group=HOSTILE)
        stage["changes"] = [{"kind": HOSTILE, "text": HOSTILE, "before": HOSTILE, "after": HOSTILE}]
        stage["events"] = [
            {"rule": HOSTILE, "reason": HOSTILE, "before": None, "after": HOSTILE,
             "before_text": HOSTILE, "after_text": HOSTILE}
        ]  # fmt: skip
        if stage["error"]:
            stage["error"].update(type=HOSTILE, message=HOSTILE)
    page = new_page()
    root = mount(page, state)
    for key in ("2", "3", "4", "1", "End"):
        root.press(key)
    assert HOSTILE in root.locator(".byl-title").text_content()
    assert root.locator("img, script, foreignObject, a, iframe").count() == 0
    assert page.evaluate("() => window.hurt") is None


# ---- rewrites inside a pass ---------------------------------------------------------------------


def test_stepping_through_the_rewrites_of_a_saved_page(new_page: NewPage) -> None:
    trace = mobilenet()
    builder = Builder(False)
    state = with_steps(trace, builder.ids, builder.trace(trace))
    page = new_page()
    root = mount(page, state, index=1)
    bar, pane = root.locator(".byl-rewrites"), root.locator(".byl-diff")
    whole = lines(root)
    assert "27 rewrites inside" in bar.text_content()
    root.press(".")
    assert "rewrite 1 / 27" in bar.text_content()
    assert state["stages"][1]["events"][0]["reason"] in bar.text_content()
    assert pane.get_attribute("data-rewrite") == "1"
    for fold in root.locator(".byl-fold").all():
        fold.click()
    after = state["stages"][1]["steps"][0]["modules"][1]
    assert lines(root) == [text for text, _ in after["lines"]]
    assert root.get_attribute("data-selected") == state["stages"][1]["events"][0]["after"]
    root.press("3")
    root.locator('[data-panel="rewrites"] .byl-card').nth(4).click()
    assert "rewrite 5 / 27" in bar.text_content()
    assert root.locator(".byl-card.byl-current").get_attribute("data-rewrite") == "5"
    assert "rewrite 5 / 27" in root.locator(".byl-live").text_content()
    root.focus()
    root.press(",")
    assert "rewrite 4 / 27" in bar.text_content()
    root.press("Escape")
    assert lines(root) == whole
    root.press(".")
    root.press("ArrowRight")
    assert model(page, "[model.get('index'), model.get('rewrite')]") == [2, 0]


def test_a_step_is_shown_when_it_comes_and_said_to_be_missing_when_not(new_page: NewPage) -> None:
    trace = mobilenet()
    page = new_page()
    state = trace_state(trace, graphs=False)
    root = mount(page, state, index=1)
    before = lines(root)
    root.press(".")
    assert lines(root) == before, "the text stays until the step is there"
    step = step_of(trace, Ids(), 1, 1)
    page.evaluate("(step) => model.set('step', step)", step)
    assert root.locator(".byl-diff").get_attribute("data-rewrite") == "1"
    assert step["event"]["reason"] in root.locator(".byl-rewrites").text_content()
    root.press(".")
    root.locator(".byl-rewrites").get_by_text("in a running notebook").wait_for()


def test_cleaning_up_leaves_nothing_behind(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    mount(page, chain_state)
    assert model(page, "model.listening") == 4
    page.evaluate("() => cleanup()")
    assert model(page, "model.listening") == 0
    assert page.locator(".byl").count() == 0
    page.evaluate("() => model.set('index', 1)")
    page.emulate_media(color_scheme="dark")


def test_two_widgets_of_one_trace_do_not_disturb_each_other(
    new_page: NewPage, chain_state: Any
) -> None:
    page = new_page()
    mount(page, chain_state)
    page.evaluate("() => document.getElementById('here').cloneNode()")
    ids = page.evaluate("() => [...document.querySelectorAll('.byl [id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_light_and_dark(new_page: NewPage, chain_state: Any) -> None:
    page = new_page(color_scheme="dark")
    root = mount(page, chain_state)
    assert root.get_attribute("data-theme") == "dark"
    ground = "() => getComputedStyle(document.querySelector('.byl')).backgroundColor"
    dark = page.evaluate(ground)
    page.emulate_media(color_scheme="light")
    page.wait_for_selector('.byl[data-theme="light"]')
    assert page.evaluate(ground) != dark
    page.evaluate("() => document.body.setAttribute('data-jp-theme-light', 'false')")
    page.wait_for_selector('.byl[data-theme="dark"]')


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (css) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const ground = (e) => { for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; }
    return [255, 255, 255, 255]; };
  const light = ([r, g, b]) => { const f = (c) => ((c /= 255) <= 0.03928 ? c / 12.92
    : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const bad = [];
  for (const e of document.querySelectorAll(".byl *:not(svg *)")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.checkVisibility({ opacityProperty: true })) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5 && !e.closest("[aria-disabled=true]"))
      bad.push(`${e.className}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(bad)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["1", "2", "4"])
def test_all_text_can_be_read(new_page: NewPage, chain_state: Any, scheme: str, tab: str) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1 between text and what is behind it."""
    page = new_page(color_scheme=scheme)
    root = mount(page, chain_state, index=1)
    root.press("t")
    root.locator(".byl-mark").first.click()
    root.press(tab)
    assert page.evaluate(CONTRAST) == []
    page.add_style_tag(content=".byl-position { color: #888 !important; background: #999; }")
    assert [found.split(":")[0] for found in page.evaluate(CONTRAST)] == ["byl-position"]


@pytest.mark.parametrize("width", [1600, 1000, 700])
def test_nothing_sticks_out_at_any_width(new_page: NewPage, chain_state: Any, width: int) -> None:
    page = new_page(viewport={"width": width, "height": 800})
    root = mount(page, chain_state, index=1)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    for part in (".byl-stages", ".byl-diff", ".byl-side", ".byl-next", ".byl-tools"):
        box = root.locator(part).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width + 1, part
        assert box["width"] > 40 and box["height"] > 20, part


def test_roles_for_readers(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state)
    assert root.get_attribute("data-lm-suppress-shortcuts") == "true"
    assert root.locator("[role=listbox]").get_attribute("aria-activedescendant")
    assert root.locator("[role=tablist] [role=tab][aria-selected=true]").count() == 1
    assert root.locator("[role=tabpanel]:visible").count() == 1
    assert root.locator("svg[role=img]").get_attribute("aria-label").startswith("Dataflow graph")
    for button in root.locator("button").all():
        assert (button.text_content() or button.get_attribute("aria-label")).strip()
