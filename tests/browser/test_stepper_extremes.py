"""The stepper in a browser: names of a megabyte, bidirectional control characters, texts of
50,000 lines."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.lab.tracing import trace
from byoc_lab.lab.view.states.state import trace_state
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import nn

from .test_access import HOST, violations
from .widget_page import NewPage, drawn, mount

pytestmark = pytest.mark.browser

LINES = 50_000


def named(name: str) -> dict[str, Any]:
    """The state of a trace with a given name for its input."""
    x = relay.var(name, shape=(1, 4))
    mod = relay.IRModule.from_expr(nn.relu(relay.exp(x)))
    return trace_state(trace(mod, [InferType(), AnnotateTarget("dnnl")], title=name))


# A trace of one stage whose modules have many lines, and only one of them changes.
GROW = """(count) => {
  const small = model.get("state");
  const before = Array.from({ length: count }, (_, n) => [`  %${n} = nn.relu(%${n - 1})`, `x${n}`]);
  const after = [...before.slice(0, 100), ["  %new = exp(%1);", "y"], ...before.slice(100)];
  const modules = [before, after].map((lines) => ({ ...small.modules[0], lines, names: {} }));
  const hunks = [["=", 0, 0, 100], ["+", 100, 100, 1], ["=", 100, 101, count - 100]];
  const stage = { ...small.stages[1], before: 0, after: 1, hunks, changes: [], events: [],
                  origins: {}, rules: {} };
  model.set("state", { ...small, modules, stages: [stage], opens: 0 });
}"""


def test_name_of_a_megabyte_fits_the_page(new_page: NewPage) -> None:
    page = new_page()
    root = mount(page, named("n" * 1_000_000))
    for key in ("ArrowRight", "2", "3", "4", "5", "1"):
        root.press(key)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 1400, key
    drawn(root)
    assert "more characters" in root.locator(".byl-more").first.text_content()
    box = root.locator(".byl-box.byl-input, .byl-folded").first.bounding_box()
    assert box["width"] < 700


def test_bidirectional_control_characters_are_escaped_everywhere(new_page: NewPage) -> None:
    root = mount(new_page(), named("a\u202eb\u2066c"))
    for key in ("1", "2", "3", "4", "5", "ArrowRight"):
        root.press(key)
        drawn(root)
        for part in (".byl-diff", ".byl-scene", ".byl-side"):
            shown = root.locator(part).text_content()
            assert "\u202e" not in shown and "\u2066" not in shown, (key, part)
    assert "\\u202e" in root.locator(".byl-scene").text_content()


def test_page_of_fifty_thousand_lines_has_few_rows(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    page.evaluate(GROW, LINES)
    root.focus()
    rows = root.locator(".byl-row")
    assert rows.count() == 7, "the new line, and three on each side"
    assert "%new" in root.locator('[data-kind="added"]').text_content()
    root.locator(".byl-fold").last.click()  # tens of thousands of lines
    assert 50 < rows.count() < 900
    page.evaluate("() => { const p = document.querySelector('.byl-diff'); p.scrollTop = 1e9; }")
    page.wait_for_function(
        "(n) => document.querySelector(`code[data-line='${n}']`) !== null", arg=LINES
    )
    assert rows.count() < 900, "rows far from the visible part are removed"
    page.evaluate("() => model.set('selected_id', 'x25000')")
    chosen = root.locator('code.byl-chosen[data-id="x25000"]')
    assert chosen.first.is_visible()
    root.press("]")
    assert root.get_attribute("data-selected") == "x25001"
    root.press("n")
    assert root.locator(".byl-here").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_overlays_and_comparisons(
    new_page: NewPage, mobilenet_state: Any, scheme: str
) -> None:
    state = copy.deepcopy(mobilenet_state)
    last = state["modules"][state["stages"][-1]["after"]]
    host = next(i for text, i in last["lines"] if "nn.batch_flatten(" in text)
    reason = {
        "place": "on the host",
        "cause": "no-pattern",
        "lines": [["reason", "nobody supports it"]],
    }
    state["overlays"] = {"reasons": {host: reason}, "numbers": {}, "kernels": {}}
    page = new_page(color_scheme=scheme, reduced_motion="reduce")
    root = mount(page, state, index=8)
    root.locator(".byl-overlays").select_option("flops")
    root.locator(".byl-reason-badge").click()
    root.press("5")
    assert violations(page, HOST) == []
    root.locator(".byl-overlays").select_option("coverage")
    root.locator(".byl-compare").select_option("2")
    root.press("1")
    assert violations(page, HOST) == []
    root.press("3")
    root.locator(".byl-panel:visible .byl-about summary").first.click()
    assert violations(page, HOST) == []
