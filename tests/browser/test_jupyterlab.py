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


def test_a_trace_is_the_stepper(new_page: Callable[..., Any], jupyterlab: JupyterLab) -> None:
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


def test_browser_and_kernel_agree(new_page: Callable[..., Any], jupyterlab: JupyterLab) -> None:
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
    assert jupyterlab.ask(page, "print(stepper.index, stepper.stage.name)").split() == [
        "1",
        "SimplifyInference",
    ]
    root.locator("code .byl-t-op").first.click()
    page.wait_for_selector('.byl:not([data-selected=""])')
    chosen = root.get_attribute("data-selected")
    assert jupyterlab.ask(page, "print(stepper.selected_id)").strip() == chosen


def test_the_kernel_sends_the_module_after_a_rewrite(
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
    """`d d` deletes a cell in command mode."""
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


def test_the_theme_of_jupyterlab_is_followed(
    new_page: Callable[..., Any], jupyterlab: JupyterLab
) -> None:
    write_notebook(jupyterlab.root / "theme.ipynb", f"{TRACE}recorded")
    page = new_page()
    jupyterlab.open(page, "theme.ipynb")
    jupyterlab.run_all(page)
    page.wait_for_selector('.byl[data-theme="light"]')
    change = "(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })"
    page.evaluate(change, "JupyterLab Dark")
    page.wait_for_selector('.byl[data-theme="dark"]')
    page.evaluate(change, "JupyterLab Light")
    page.wait_for_selector('.byl[data-theme="light"]')


def test_a_notebook_opened_again_without_a_kernel_shows_the_page(
    new_page: Callable[..., Any], jupyterlab: JupyterLab
) -> None:
    """Instead of "model not found": the trace, and the stepper as an object."""
    stepper = "from byoc_lab.lab.view import Stepper\nStepper(recorded, index=0)"
    write_notebook(jupyterlab.root / "again.ipynb", f"{TRACE}recorded", stepper)
    page = new_page()
    jupyterlab.open(page, "again.ipynb")
    jupyterlab.run_all(page)
    page.locator(".byl[data-ready]").nth(1).wait_for()
    assert page.locator(".byl-saved:visible").count() == 0, "the widgets live"
    session = "jupyterapp.shell.currentWidget.context.sessionContext"
    page.evaluate(f"() => {session}.session.kernel.restart()")
    page.locator(".byl-restarted").nth(1).wait_for()
    page.locator(".byl-next").first.click()  # works on
    page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    page.evaluate(f"() => {session}.shutdown()")
    page.close()
    again = new_page()
    again.goto(f"{jupyterlab.url}lab/tree/again.ipynb?reset")
    again.locator(".byl-saved").nth(1).wait_for()
    assert again.get_by_text("model not found").locator("visible=true").count() == 0
    root = again.frame_locator(".byl-saved iframe").nth(1).locator(".byl[data-ready]")
    root.wait_for()
    root.locator(".byl-next").click()
    assert root.get_attribute("data-index") == "1"


def test_the_board_puts_operators_into_regions(
    new_page: Callable[..., Any], jupyterlab: JupyterLab
) -> None:
    cell = f"{TRACE}import byoc_lab\nboard = byoc_lab.board(mod)\nboard"
    write_notebook(jupyterlab.root / "board.ipynb", cell)
    page = new_page()
    jupyterlab.open(page, "board.ipynb")
    jupyterlab.run_all(page)
    root = page.locator(".byl[data-ready]")
    root.wait_for()
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
