"""The main points of the stepper in JupyterLab 4 and in Jupyter Notebook 7, in one walk each."""

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
REASONS = "stepper.overlay(byoc_lab.explain(mod, 'dnnl'))"


@pytest.mark.parametrize("app", ["JupyterLab", "Notebook"])
def test_the_stepper_works_in(app: str, new_page: NewPage, jupyterlab: JupyterLab) -> None:
    if app == "Notebook" and importlib.util.find_spec("notebook") is None:
        pytest.skip("Jupyter Notebook 7 is not installed (pip install notebook)")
    write_notebook(jupyterlab.root / f"walk-{app}.ipynb", CELL)
    page = new_page()
    jupyterlab.open(page, f"walk-{app}.ipynb", app)
    jupyterlab.run_all(page)
    root = page.locator(".byl[data-ready]")
    root.wait_for()
    drawn(root)

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

    root.locator(".byl-box.byl-op", has_text="relu").first.click()  # a node, in Python too
    page.wait_for_selector('.byl:not([data-selected=""])')
    assert jupyterlab.ask(page, "print(stepper.selected.op.name)").strip() == "nn.relu"
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
