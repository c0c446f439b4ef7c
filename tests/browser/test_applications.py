"""The main features of the stepper in JupyterLab 4 and in Jupyter Notebook 7, one test for each."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from .jupyterlab import JupyterLab, write_notebook
from .widget_page import NewPage, drawn

pytestmark = pytest.mark.browser

CELL = """
import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.view import Stepper
x = relay.var("x", shape=(1, 4))
total = relay.nn.batch_flatten(x) + relay.exp(relay.const(1.0))
mod = relay.IRModule.from_expr(relay.nn.relu(total))
recorded = byoc_lab.trace(mod, "dnnl", title="a small one")
stepper = Stepper(recorded, index=0)
stepper
"""
BOARD = "board = byoc_lab.board(mod)\nboard"
LAST = 9  # the last stage of the pipeline
SESSION = "jupyterapp.shell.currentWidget.context.sessionContext"
# "Create New View for Cell Output", of the first cell.
NEW_VIEW = """async () => {
  const widget = jupyterapp.shell.currentWidget;
  window.walked = widget.id;
  widget.content.activeCellIndex = 0;
  await jupyterapp.commands.execute("notebook:create-output-view");
}"""
REASONS = "stepper.overlay(byoc_lab.explain(mod, 'dnnl'))"


@pytest.mark.parametrize("app", ["JupyterLab", "Notebook"])
def test_stepper_works_in_the_application(
    app: str, new_page: NewPage, jupyterlab: JupyterLab
) -> None:
    if app == "Notebook" and importlib.util.find_spec("notebook") is None:
        pytest.skip("Jupyter Notebook 7 is not installed (pip install notebook)")
    write_notebook(jupyterlab.root / f"walk-{app}.ipynb", CELL, BOARD)
    page = new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    jupyterlab.open(page, f"walk-{app}.ipynb", app)
    jupyterlab.run_all(page)
    root = page.locator(".byl[data-ready]").first
    root.wait_for()
    drawn(root)
    assert page.locator(".byl-saved:visible").count() == 0, "the widgets live"

    root.locator(".byl-next").click()  # stages, by button and from Python
    page.wait_for_selector('.byl[data-index="1"]')
    shown = "[s.name for s in recorded].index('FoldConstant')"
    jupyterlab.ask(page, f"stepper.index = {shown}")
    page.wait_for_selector(".byl-heading h3:has-text('FoldConstant')")
    assert jupyterlab.ask(page, "print(stepper.stage.name)").strip() == "FoldConstant"

    root.focus()
    page.keyboard.press(".")  # a rewrite, which the kernel sends
    page.wait_for_selector('.byl-diff[data-rewrite="1"]')
    page.keyboard.press("Escape")

    root.locator(".byl-box.byl-op", has_text="relu").first.click()  # a node, also from Python
    jupyterlab.wait_for(page, "print(getattr(stepper.selected, 'op', None))", "Op(nn.relu)")
    seen = "events = []; stepper.observe(lambda c: events.append(c['new']), 'selected')"
    jupyterlab.ask(page, f"{seen}; stepper.selected = None")
    page.wait_for_selector('.byl[data-selected=""]')
    assert jupyterlab.ask(page, "print(events)").strip() == "[None]"

    jupyterlab.ask(page, REASONS)  # why an operator is on the host
    jupyterlab.ask(page, "stepper.index = 0")
    root.locator(".byl-reason-badge").first.wait_for()
    cells: Any = "() => jupyterapp.shell.currentWidget.content.model.cells.length"
    before = page.evaluate(cells)
    root.focus()
    for key in "ddab":  # commands of a notebook
        page.keyboard.press(key)
    assert page.evaluate(cells) == before

    walk_on_the_board(page, jupyterlab)
    if app == "JupyterLab":
        page.evaluate(NEW_VIEW)
        page.locator(".jp-LinkedOutputView .byl[data-ready]").wait_for()
        root.press("End")
        page.wait_for_selector(f'.jp-LinkedOutputView .byl[data-index="{LAST}"]')
        page.evaluate("() => jupyterapp.shell.activateById(walked)")
    end_and_open_again(app, page, new_page, jupyterlab)
    outside = [url for url in asked if not url.startswith((jupyterlab.url, "blob:", "data:"))]
    assert [url for url in outside if "127.0.0.1" not in url and "localhost" not in url] == []


def walk_on_the_board(page: Any, jupyterlab: JupyterLab) -> None:
    """Moves an operator into a region and out, and undoes that."""
    root = page.locator(".byl[data-ready]").nth(1)
    bar = root.locator(".byl-board")
    assert "Select an operator" in bar.text_content()
    root.locator(".byl-box", has_text="nn.relu").first.click()
    bar.locator("select").select_option("dnnl")
    bar.get_by_text("Put in").click()
    root.locator('[data-stat="offloaded"]', has_text="0 → 1").wait_for()
    assert bar.get_by_text("Take out").is_visible()
    assert jupyterlab.ask(page, "print(len(board.chosen), board.stats['regions'])") == "1 1\n"
    root.press("b")
    root.locator('[data-stat="offloaded"]', has_text="0 operators").wait_for()
    bar.get_by_text("Undo").click()
    root.locator('[data-stat="offloaded"]', has_text="0 → 1").wait_for()


def end_and_open_again(app: str, page: Any, new_page: NewPage, jupyterlab: JupyterLab) -> None:
    """Shuts down the kernel and reopens the notebook without one."""
    page.evaluate(f"() => {SESSION}.session.kernel.restart()")
    page.locator(".byl-restarted").first.wait_for()
    root = page.locator(".byl[data-ready]").first
    root.press("Home")
    root.locator(".byl-next").click()  # the stepper still works
    page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    page.evaluate(f"() => {SESSION}.shutdown()")
    page.close()
    again = new_page()
    place = "lab/tree" if app == "JupyterLab" else "notebooks"
    again.goto(f"{jupyterlab.url}{place}/walk-{app}.ipynb")
    again.locator(".byl-saved").first.wait_for()
    assert again.get_by_text("model not found").locator("visible=true").count() == 0
    root = again.frame_locator(".byl-saved iframe").first.locator(".byl[data-ready]")
    drawn(root)
    again.locator(".byl-saved iframe").first.scroll_into_view_if_needed()
    assert again.evaluate("() => document.activeElement.tagName") != "IFRAME", "the cell keeps it"
    root.locator(".byl-next").click()
    root.locator(".byl-position", has_text=f"/ {LAST + 1}").wait_for()
