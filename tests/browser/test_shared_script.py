"""Widgets share one script: on a page, and in a notebook that stores their states."""

from __future__ import annotations

import json
from typing import Any

import pytest

from byoc_lab.lab.view.assets import script, shared_esm

from .jupyterlab import JupyterLab, write_notebook
from .widget_page import NewPage, drawn

pytestmark = pytest.mark.browser

_MOUNT = """async ({ esm, state, holders }) => {
  const nothing = { set() {}, on() {}, off() {}, save_changes() {} };
  const model = (values) => ({ get: (name) => values[name], ...nothing });
  const manager = { get_model: async (id) => {
    if (!(id in holders)) throw new Error(`widget model not found: ${id}`);
    return model({ packed: holders[id] });
  } };
  for (const place of document.querySelectorAll("[id]")) {
    const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
    const { default: widget } = await import(url);
    const values = { state, index: 0, selected_id: "", script: "IPY_MODEL_one" };
    const tree = place.id === "shadow" ? place.attachShadow({ mode: "open" }) : place;
    const el = tree.appendChild(document.createElement("div"));
    await widget.render({ model: { ...model(values), widget_manager: manager }, el });
  }
}"""


def mount(page: Any, state: dict[str, Any], holders: dict[str, str]) -> None:
    """Shows a state in two elements and in a shadow tree, with the scripts on the page."""
    page.set_content("<div id=a></div><div id=b></div><div id=shadow></div>")
    page.evaluate(_MOUNT, {"esm": shared_esm(), "state": state, "holders": holders})


def test_widgets_on_a_page_import_the_script_once(
    new_page: NewPage, chain_state: dict[str, Any]
) -> None:
    page = new_page()
    mount(page, chain_state, {"one": script()})
    for place in ("#a", "#b", "#shadow"):
        root = page.locator(f"{place} .byl[data-ready]")
        drawn(root)
        assert root.evaluate("root => getComputedStyle(root).display") == "flex"
    assert page.evaluate("() => [...globalThis.byocLabViews].length") == 1
    styles = "root => [...root.children].filter((each) => each.matches('style')).length"
    assert page.locator("head").evaluate(styles) == 1
    assert page.locator("#shadow").evaluate(f"el => ({styles})(el.shadowRoot)") == 1


def test_widget_without_its_script_asks_to_run_the_cell_again(
    new_page: NewPage, chain_state: dict[str, Any]
) -> None:
    page = new_page()
    mount(page, chain_state, {})
    assert "Run the cell again" in page.locator("#a").inner_text()
    assert page.locator(".byl").count() == 0, "the stored copy of the widget stays visible"


CELLS = (
    "import byoc_lab\nfrom byoc_lab import relay\nx = relay.var('x', shape=(1, 4))\n"
    "mod = relay.IRModule.from_expr(relay.nn.relu(x + relay.exp(x)))\nmod",
    "byoc_lab.trace(mod, 'dnnl')",
    "byoc_lab.lint(mod)",
)


@pytest.mark.slow
def test_executed_notebook_stores_the_script_once_and_steps_without_a_kernel(
    new_page: NewPage, jupyterlab: JupyterLab
) -> None:
    nbformat = pytest.importorskip("nbformat")
    sign = pytest.importorskip("nbformat.sign")
    nbclient = pytest.importorskip("nbclient")
    path = jupyterlab.root / "executed.ipynb"
    write_notebook(path, *CELLS)
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    kept = json.dumps(notebook.metadata.widgets)
    assert kept.count(script()) == 1 and kept.count("AnyModel") >= 3
    nbformat.write(notebook, path)
    sign.NotebookNotary(data_dir=str(jupyterlab.data)).sign(notebook)
    page = new_page(viewport={"width": 1400, "height": 3000})
    jupyterlab.open(page, "executed.ipynb")
    roots = page.locator(".jp-OutputArea .byl[data-ready]")
    roots.nth(2).wait_for()
    stepper = page.locator('.byl[data-kind="trace"]')
    following = int(stepper.get_attribute("data-index")) + 1
    stepper.locator(".byl-next").click()
    page.wait_for_selector(f'.byl[data-kind="trace"][data-index="{following}"]')
    assert page.locator(".byl-saved:visible").count() == 0
