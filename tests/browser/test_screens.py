"""Screens to look at, kept in build/browser: light and dark, projector and small window.

On each, nothing is wider than the window, no texts overlap in the graph, and truncated text has a
tooltip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.checking.coverage import Coverages
from byoc_lab.lab.linting import lint
from byoc_lab.lab.view.export import saved_state
from byoc_lab.lab.view.messages import State
from byoc_lab.lab.view.states.objects import state_of
from byoc_lab.run import Cards, OpCard, RegionCard, RegionInfo
from tests.lab.view.samples import annotated, chain, network

from .test_recording import KEPT
from .widget_page import NewPage, drawn, mount, still

pytestmark = pytest.mark.browser

SIZES = {"large": (1600, 1000), "small": (800, 600)}
SCHEMES = ("light", "dark")


def typed(blocks: int = 4) -> relay.IRModule:
    return relay.transform.InferType()(network(blocks))


def board(*names: str) -> State:
    """A board with the named operators in regions of dnnl."""
    made = byoc_lab.board(typed())
    for call in byoc_lab.explain(made.plain, "dnnl"):
        if call.name in names:
            made.put(call.call, "dnnl")
    return made.state


def back_ends() -> State:
    mod = typed()
    return state_of(byoc_lab.compare(byoc_lab.trace(mod, "dnnl"), byoc_lab.trace(mod, "ccompiler")))


# name: the state, and the keys that are pressed
STEPPERS: dict[str, tuple[Callable[[], State], str]] = {
    "board-start": (board, ""),
    "board-partly": (lambda: board("nn.conv2d", "nn.relu"), "Home"),
    "board-solved": (lambda: board("nn.conv2d", "nn.batch_norm", "nn.relu"), "End"),
    "comparison": (back_ends, ""),
    "comparison-moved": (back_ends, "End 3"),
    "difference": (
        lambda: state_of(byoc_lab.diff(typed(), relay.transform.SimplifyInference()(typed()))),
        "",
    ),
    "findings": (lambda: state_of(lint(annotated(fixed=False, blocks=4))), ""),
    "failure": (lambda: saved_state(chain()), ""),
    "rewrite": (lambda: saved_state(chain(fixed=True, blocks=4)), "End . ."),
    "presented": (lambda: saved_state(chain(fixed=True, blocks=4)), "End P"),
    "wide-text": (lambda: saved_state(chain(fixed=True, blocks=4)), "End g"),
}

# Truncated text without a tooltip on it or around it, and choices wider than their box.
CUT = """() => {
  const pen = document.createElement("canvas").getContext("2d");
  const wide = (select) => {
    const style = getComputedStyle(select);
    pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    return pen.measureText(select.selectedOptions[0]?.text ?? "").width + 20 > select.clientWidth;
  };
  const cut = (e) => e.tagName === "SELECT" ? wide(e)
    : e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).textOverflow === "ellipsis";
  return [...document.querySelectorAll(".byl :is(span, button, b, p, h3, select)")]
    .filter((e) => e.checkVisibility() && cut(e) && !e.closest("[title]"))
    .map((e) => e.selectedOptions?.[0].text ?? e.textContent);
}"""
# Pairs of texts in a graph that overlap, by more than their line spacing.
OVERLAPS = """() => [...document.querySelectorAll(".byl-graph")].flatMap((graph) => {
  const texts = [...graph.querySelectorAll(".byl-zoom :is(.byl-first, .byl-detail, .byl-label)")]
    .filter((e) => !e.closest(".byl-gone")).map((e) => [e.textContent, e.getBoundingClientRect()]);
  return texts.flatMap(([a, p], n) => texts.slice(n + 1).filter(([, q]) =>
    Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&
    Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > p.height / 3)
      .map(([b]) => `${a} / ${b}`));
})"""

# Whether an element is in full screen; this changes some time after the key.
WHOLE = "document.fullscreenElement !== null"

# Graphs without a box in the window.
UNSEEN = """() => [...document.querySelectorAll(".byl-canvas")].filter((canvas) => {
  const window = canvas.getBoundingClientRect();
  return ![...canvas.querySelectorAll(".byl-box:not(.byl-gone)")].some((box) => {
    const at = box.getBoundingClientRect();
    return at.left < window.right && at.right > window.left
      && at.top < window.bottom && at.bottom > window.top;
  });
}).length"""


def keep(page: Any, name: str, scheme: str, size: str) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=KEPT / f"screen-{name}-{scheme}-{size}.png")


@pytest.mark.parametrize("name", STEPPERS)
def test_screen_of_the_stepper_has_nothing_cut_off_or_overlapping(
    new_page: NewPage, name: str
) -> None:
    make, keys = STEPPERS[name]
    page = new_page(
        viewport=dict(zip(("width", "height"), SIZES["large"], strict=True)),
        reduced_motion="reduce",
    )
    state = make()
    root = mount(page, state, index=state["opens"])
    for key in keys.split():
        root.press(key)
        drawn(root)
    presented = "P" in keys.split()
    if presented:
        page.wait_for_function(WHOLE)
    for size, (width, height) in SIZES.items():
        if presented:  # a full-screen window keeps its size
            root.press("P")
            page.wait_for_function(f"!({WHOLE})")
        page.set_viewport_size({"width": width, "height": height})
        if presented:
            root.press("P")
            page.wait_for_function(WHOLE)
        page.wait_for_timeout(300)
        drawn(root)
        still(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, size
        assert root.locator(".byl-centre").bounding_box()["width"] > 300, size
        assert page.evaluate(CUT) == [], size
        assert page.evaluate(OVERLAPS) == [], size
        assert page.evaluate(UNSEEN) == 0, size
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.wait_for_selector(f'.byl[data-theme="{scheme}"]')
            keep(page, name, scheme, size)


def cards() -> Cards:
    ops = tuple(OpCard(f"nn.conv2d_{n}", "jit", reorders=n, time_us=90.0) for n in range(3))
    facts = RegionInfo("tvmgen_default_dnnl_main_0", "dnnl", None, 12, flops=10**7, bytes=606_208)
    return Cards([RegionCard(facts, 2, native=True, ops=ops, library="oneDNN 3.2.0")])


def coverages() -> Coverages:
    found = byoc_lab.coverage(typed(), ["dnnl", "ccompiler"])
    assert isinstance(found, Coverages)
    return found


TABLES: dict[str, Callable[[], Sequence[Any]]] = {
    "cards": lambda: [cards()],
    "coverage": lambda: [byoc_lab.coverage(typed(), "dnnl"), coverages()],
    "explanations": lambda: [byoc_lab.explain(typed(), name) for name in ("dnnl", "ccompiler")],
}
# Cells with numbers on more than one line; columns without content.
TORN = """() => [...document.querySelectorAll("td")].filter((cell) =>
  getComputedStyle(cell).textAlign === "right" && !cell.closest("details") &&
  [...cell.childNodes].some((text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    return range.getClientRects().length > 1;
  })).map((cell) => cell.textContent)"""
EMPTY = """() => [...document.querySelectorAll("table")].flatMap((table) =>
  [...table.querySelectorAll("th")].filter((_, n) =>
    [...table.querySelectorAll("tbody tr")].every((row) => !row.cells[n].textContent)))
  .map((title) => title.textContent)"""


@pytest.mark.parametrize("name", TABLES)
def test_screen_of_a_table_has_one_line_per_number_and_no_empty_column(
    new_page: NewPage, name: str
) -> None:
    nbformat = pytest.importorskip("nbformat")
    exporters = pytest.importorskip("nbconvert.exporters")
    make = nbformat.v4
    shown = [{"text/html": one._repr_html_()} for one in TABLES[name]()]
    outputs = [make.new_output("display_data", data=data) for data in shown]
    book = make.new_notebook(cells=[make.new_code_cell(name, outputs=outputs)])
    for scheme in SCHEMES:
        exporter = exporters.HTMLExporter(template_name="lab", theme=scheme)
        page = new_page(color_scheme=scheme)
        page.route("**/*", lambda route: route.abort() if "http" in route.request.url else None)
        page.set_content(exporter.from_notebook_node(book)[0])
        for size, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            assert page.locator("table").count() > 0
            assert page.evaluate(TORN) == []
            assert page.evaluate(EMPTY) == []
            keep(page, name, scheme, size)
