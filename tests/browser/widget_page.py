"""A page with the widget's module and a stand-in for its model: no Jupyter, no server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from byoc_lab.lab.view.assets import whole_esm

NewPage = Callable[..., Any]
TALL = {"width": 1400, "height": 22_000}  # a viewport that shows all lines of MobileNet

_PAGE = """<!doctype html><html><head><meta charset="utf-8"><style>body{margin:0}</style></head>
<body><div id="here"></div></body></html>"""

# As anywidget does: the module is imported from a blob.
_MOUNT = """async ({ esm, state, index }) => {
  class Model {
    constructor(values) { this.values = values; this.sent = []; this.listeners = {}; }
    get(name) { return this.values[name]; }
    set(name, value) {
      if (this.values[name] === value) return;
      this.values[name] = value;
      for (const f of [...(this.listeners["change:" + name] ?? [])]) f();
    }
    on(name, f) { (this.listeners[name] ??= new Set()).add(f); }
    off(name, f) { this.listeners[name]?.delete(f); }
    save_changes() { 
      this.sent.push({ index: this.values.index, selected: this.values.selected_id });
    }
    get listening() { return Object.values(this.listeners).reduce((n, s) => n + s.size, 0); }
  }
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  window.model = new Model({ state, index, selected_id: "", saved_as: "one" });
  window.show = (el) => widget.render({ model: window.model, el });
  window.cleanup = window.show(document.getElementById("here"));
}"""


def mount(page: Any, state: dict[str, Any], index: int = 0) -> Any:
    """Shows `state` in `page`; returns the locator of the widget's root, which has the focus."""
    page.set_content(_PAGE)
    page.evaluate(_MOUNT, {"esm": whole_esm(), "state": state, "index": index})
    root = page.locator(".byl")
    root.wait_for()
    drawn(root)
    root.focus()
    return root


def answer(page: Any, **found: Any) -> None:
    """Answers the page's last request: with a part, with a step, or, for a step in advance, with
    nothing."""
    page.evaluate("(found) => model.set('answer', { asked: model.get('asked'), ...found })", found)


def drawn(root: Any) -> None:
    """Waits until the graphs, which a worker lays out, are drawn."""
    root.locator(".byl-graphs:not(:has([data-busy]))").wait_for()


def still(page: Any) -> None:
    """Waits until all animations have ended: boxes move, marks fade."""
    page.wait_for_timeout(100)  # time for animations of the new drawing to begin
    page.wait_for_function("() => document.getAnimations().every((a) => a.playState !== 'running')")


def model(page: Any, expression: str) -> Any:
    """The value of an expression about `model`, in the page."""
    return json.loads(page.evaluate(f"() => JSON.stringify({expression}) ?? 'null'"))


def lines(root: Any, side: str = "a") -> list[str]:
    """The lines of the text on one side of the difference: "b" before, "a" after."""
    return root.locator(f'code[data-side="{side}"]').all_text_contents()
