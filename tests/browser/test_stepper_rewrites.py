"""The stepper in a browser: single rewrites inside a pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.rewrites import Steps
from byoc_lab.lab.view.states.state import Builder, trace_state
from byoc_lab.transform import AnnotateTarget, InferType
from tests.lab.view.samples import mobilenet

from .widget_page import TALL, NewPage, answer, drawn, lines, model, mount

pytestmark = pytest.mark.browser

# The boxes marked as removed, however soon they disappear.
WATCH_REMOVED_BOXES = """() => {
  window.gone = new Set();
  const going = ({ target }) => target.matches(".byl-box.byl-gone") && window.gone.add(target);
  const seen = (changes) => changes.forEach(going);
  new MutationObserver(seen).observe(document.body, { subtree: true, attributeFilter: ["class"] });
}"""


def steps_of(trace: Trace, ids: Ids, stage: int, rewrites: Iterable[int]) -> list[Any]:
    steps = Steps(trace, ids)
    return [steps.step(stage, k, "text") for k in rewrites]


def test_rewrites_of_a_saved_page_can_be_stepped_through(new_page: NewPage) -> None:
    trace = mobilenet()
    builder = Builder()
    state = builder.trace(trace)
    state["stages"][1]["steps"] = steps_of(trace, builder.ids, 1, range(1, 7))
    page = new_page(viewport=TALL)
    root = mount(page, state, index=1)
    root.press("g")
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
    root.press("1")
    root.press("Escape")
    assert lines(root) == whole
    root.press(".")
    root.press("ArrowRight")
    assert model(page, "[model.get('index'), model.get('rewrite')]") == [2, 0]


def test_counters_and_highlight_follow_the_shown_rewrite(new_page: NewPage) -> None:
    """Each of 27 batch norms becomes the same number of operators; only the
    operators of the shown rewrite are highlighted."""
    trace = mobilenet()
    builder = Builder()
    state = builder.trace(trace)
    stage = next(n for n, s in enumerate(trace.stages) if s.name == "SimplifyInference")
    state["stages"][stage]["steps"] = steps_of(trace, builder.ids, stage, (1, 2, 3))
    first, last = (
        state["modules"][state["stages"][stage][side]]["stats"]["host"]
        for side in ("before", "after")
    )
    more = (last - first) // 27
    assert first + 27 * more == last
    root = mount(new_page(viewport=TALL, reduced_motion="reduce"), state, index=stage)
    root.get_by_role("button", name="Open all").click()
    drawn(root)
    counter, glowing = root.locator('[data-stat="host"] b'), root.locator(".byl-op.byl-fresh")
    assert counter.text_content() == f"{first} → {last}"
    of_the_pass = glowing.count()
    for k in (1, 2, 3):
        root.press(".")
        drawn(root)
        assert counter.text_content() == f"{first + (k - 1) * more} → {first + k * more}"
        assert glowing.count() == of_the_pass // 27 > 0


def test_removed_box_fades_out_or_disappears_at_once_with_reduced_motion(
    new_page: NewPage,
) -> None:
    """The box that a rewrite removes is drawn until it has faded out."""
    trace = mobilenet()
    builder = Builder()
    state = builder.trace(trace)
    stage = next(n for n, s in enumerate(trace.stages) if s.name == "SimplifyInference")
    state["stages"][stage]["steps"] = steps_of(trace, builder.ids, stage, (1, 2))
    for motion in ("no-preference", "reduce"):
        page = new_page(viewport=TALL, reduced_motion=motion)
        root = mount(page, state, index=stage)
        root.get_by_role("button", name="Open all").click()
        drawn(root)
        page.evaluate(WATCH_REMOVED_BOXES)
        root.press(".")
        drawn(root)
        root.locator(".byl-box.byl-gone").first.wait_for(state="detached")
        gone = page.evaluate("window.gone.size")
        assert gone == 0 if motion == "reduce" else gone > 20


def test_rewrite_of_a_large_module_is_shown_with_its_neighbours(new_page: NewPage) -> None:
    """The graph shows the number of omitted calls, and boxes stay from one rewrite to the next."""
    x: relay.Expr = relay.var("x", shape=(4,))
    for _ in range(450):
        x = relay.nn.relu(x)
    passes = [InferType(), AnnotateTarget("dnnl")]
    trace = byoc_lab.trace(relay.IRModule.from_expr(x), passes)
    builder = Builder()
    state = builder.trace(trace)
    steps = Steps(trace, builder.ids)
    shown = [steps.step(1, k, "picture") for k in (400, 401)]
    state["stages"][1]["steps"] = [{}] * 399 + shown  # the other texts are not checked
    root = mount(new_page(viewport=TALL), state, index=1)
    root.page.evaluate("() => model.set('rewrite', 400)")
    drawn(root)
    assert (
        "Shown: 21 calls around it, of 450, as a module." in root.locator(".byl-part").inner_text()
    )
    boxes = ".byl-scene .byl-box:not(.byl-gone)"
    texts = root.locator(boxes).all_text_contents()
    ends = [text for text in texts if "calls before" in text or "calls after" in text]
    assert len(ends) == 2 and len(texts) == 23
    assert root.locator(f"{boxes}.byl-fresh, .byl-fresh").count() > 0
    keys = f"[...document.querySelectorAll('{boxes}')].map((box) => box.dataset.key)"
    before = set(root.page.evaluate(keys))
    root.press(".")
    drawn(root)
    assert len(before & set(root.page.evaluate(keys))) >= 21


def test_next_rewrite_is_computed_in_advance(new_page: NewPage) -> None:
    """Also for a trace that was sent whole."""
    page = new_page()
    mount(page, trace_state(mobilenet()), index=1)
    asked = "model.get('asked')"
    page.wait_for_function(f"() => {asked}?.what === 'ahead' && {asked}.rewrite === 1")
    answer(page)
    page.evaluate("() => model.set('index', 2)")
    page.wait_for_function(f"() => {asked}.stage === 2 && {asked}.rewrite === 1")


def test_step_is_shown_when_received_and_a_missing_step_is_reported(new_page: NewPage) -> None:
    trace = mobilenet()
    page = new_page()
    state = trace_state(trace)
    root = mount(page, state, index=1)
    before = lines(root)
    root.press(".")
    assert lines(root) == before, "the text stays until the step is received"
    (step,) = steps_of(trace, Ids(), 1, [1])
    assert model(page, "[model.get('asked').what, model.get('asked').rewrite]") == ["picture", 1]
    answer(page, step=step)
    assert root.locator(".byl-diff").get_attribute("data-rewrite") == "1"
    assert step["event"]["reason"] in root.locator(".byl-rewrites").text_content()
    root.press(".")
    root.locator(".byl-rewrites").get_by_text("in a running notebook").wait_for()
