"""The stepper in a real JupyterLab."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .jupyterlab import JupyterLab, write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TRACE = """
from byoc_lab import relay, trace
x = relay.var("x", shape=(1, 4))
mod = relay.IRModule.from_expr(relay.nn.relu(relay.exp(x) + relay.exp(relay.const(1.0))))
recorded = trace(mod, ["InferType", "SimplifyInference", "FoldConstant"], title="a small one")
"""


def test_trace_is_shown_as_the_stepper(
    new_page: Callable[..., Any], jupyterlab: JupyterLab
) -> None:
    write_notebook(jupyterlab.root / "trace.ipynb", f"{TRACE}recorded")
    page = new_page()
    jupyterlab.open(page, "trace.ipynb")
    jupyterlab.run_all(page)
    root = page.locator(".byl[data-ready]")
    root.wait_for()
    root.locator(".byl-next").click()
    page.wait_for_selector('.byl[data-index="1"]')
    page.keyboard.press("ArrowRight")
    page.wait_for_selector('.byl[data-index="2"]')
    assert "3 / 3" in root.locator(".byl-position").text_content()


def test_selection_is_the_same_in_browser_and_kernel(
    new_page: Callable[..., Any], jupyterlab: JupyterLab
) -> None:
    shown = f"{TRACE}from byoc_lab.lab.view import Stepper\nstepper = Stepper(recorded)\nstepper"
    write_notebook(jupyterlab.root / "agree.ipynb", shown)
    page = new_page()
    jupyterlab.open(page, "agree.ipynb")
    jupyterlab.run_all(page)
    root = page.locator(".byl[data-ready]")
    root.wait_for()
    jupyterlab.ask(page, "stepper.index = 2")
    page.wait_for_selector('.byl[data-index="2"]')
    root.locator(".byl-previous").click()
    page.wait_for_selector('.byl[data-index="1"]')
    jupyterlab.wait_for(page, "print(stepper.index, stepper.stage.name)", "1 SimplifyInference")
    root.locator("code .byl-t-op").first.click()
    page.wait_for_selector('.byl:not([data-selected=""])')
    chosen = root.get_attribute("data-selected")
    jupyterlab.wait_for(page, "print(stepper.selected_id)", str(chosen))


def test_kernel_sends_the_module_after_a_rewrite(
    new_page: Callable[..., Any], jupyterlab: JupyterLab
) -> None:
    write_notebook(jupyterlab.root / "rewrites.ipynb", f"{TRACE}recorded")
    page = new_page()
    jupyterlab.open(page, "rewrites.ipynb")
    jupyterlab.run_all(page)
    root = page.locator(".byl[data-ready]")
    root.wait_for()
    root.focus()
    page.keyboard.press("End")
    page.wait_for_selector('.byl[data-index="2"]')
    page.keyboard.press(".")
    page.wait_for_selector('.byl-diff[data-rewrite="1"]')
    assert "rewrite 1 / 1" in root.locator(".byl-rewrites").text_content()
    assert "2.71828f" in "".join(root.locator('.byl-diff code[data-side="a"]').all_text_contents())


def test_jupyterlab_does_not_act_on_keys_meant_for_the_stepper(
    new_page: Callable[..., Any], jupyterlab: JupyterLab
) -> None:
    """`d d` would delete a cell in command mode."""
    write_notebook(jupyterlab.root / "keys.ipynb", f"{TRACE}recorded", "1 + 1")
    page = new_page()
    jupyterlab.open(page, "keys.ipynb")
    jupyterlab.run_all(page)
    root = page.locator(".byl[data-ready]")
    root.wait_for()
    root.focus()
    for key in "ddabm":
        page.keyboard.press(key)
    count = "() => jupyterapp.shell.currentWidget.content.model.cells.length"
    assert page.evaluate(count) == 2


def test_stepper_follows_the_theme_of_jupyterlab(
    new_page: Callable[..., Any], jupyterlab: JupyterLab
) -> None:
    write_notebook(jupyterlab.root / "theme.ipynb", f"{TRACE}recorded")
    page = new_page()
    jupyterlab.open(page, "theme.ipynb")
    jupyterlab.run_all(page)
    page.wait_for_selector('.byl[data-theme="light"]')
    change = "(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })"
    for theme in ("Dark", "Light"):
        # JupyterLab keeps the cover of a theme change if the next change begins before it is
        # removed.
        page.wait_for_selector("#jupyterlab-splash", state="detached")
        page.evaluate(change, f"JupyterLab {theme}")
        page.wait_for_selector(f'.byl[data-theme="{theme.lower()}"]')
