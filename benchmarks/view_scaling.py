"""Measures the times of the first picture of a trace, of a step, and of its saved page, for growing
modules.

    python benchmarks/view_scaling.py [--sizes 1000 5000 20000]

Each module is a chain of element-wise operators, annotated and partitioned for DNNL. The columns:
picture (a stepper at the first stage, from the finished trace), ahead (the slowest graph of a
stage, which the page requests while a neighbouring stage is shown), text (the slowest differences
and findings of a stage; the graph does not wait for them), page (seconds to write it, and MB; up to
5,000 operators), step (in the saved page in Chromium, the slowest step from the key to the drawn
stage). The slowest first step of a new stepper without precomputed data, in processor time of
Python: whole (to a stage), inside (to a rewrite).

The other columns are measured in Chromium with a running kernel, from the key to the drawn graph:
cold (to the last stage, as soon as the first is drawn), jump (to the last stage, later), next (the
slowest of consecutive rewrites), rewrite (the slowest jump to a distant rewrite). Without Chromium
these are blank. All columns except whole and inside are wall time.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

from report import arguments, table, timed, verdict, write_json

from byoc_lab import relay
from byoc_lab.lab.tracing import Trace, trace
from byoc_lab.lab.view.assets import esm
from byoc_lab.lab.view.states.parts import Parts
from byoc_lab.lab.view.stepper import Stepper
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import nn

PAGE_UP_TO = 5000
NEXT = 12  # number of consecutive rewrites
FAR = (0.04, 0.3, 0.5, 0.7, 0.97)  # positions in a pass, as fractions, of distant rewrites
COLUMNS = (
    *("picture", "ahead", "text", "whole", "inside"),
    *("page", "MB", "step", "jump", "next", "cold", "rewrite"),
)
# Limits up to 5,000 operators, in seconds and MB.
LIMITS = {
    "picture": 2,
    "whole": 0.3,
    "inside": 0.3,
    "step": 0.3,
    "page": 10,
    "MB": 8,
    "jump": 0.3,
    "next": 0.3,
    "rewrite": 0.3,
    "cold": 0.3,
}
DRAWN = ".byl-scene:not([data-busy]) .byl-box"
SENT = {"state", "index", "rewrite", "selected_id", "asked", "answer", "overlays"}
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
KEYS = """async (keys) => {
  const root = document.querySelector(".byl");
  const waits = () => root.querySelector(".byl-scene[data-busy]") || window.model?.asks();
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const times = [];
  for (const key of keys) {
    while (waits()) await frame();
    const start = performance.now();
    if (typeof key === "number") (window.model.set("rewrite", key), window.model.save_changes());
    else root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    do await frame(); while (waits());
    times.push((performance.now() - start) / 1000);
  }
  return times;
}"""
# A model whose values are in Python, as in a notebook.
MODEL = """async ({ esm, values }) => {
  const listeners = {};
  window.model = {
    values,
    quiet: performance.now(),
    get: (name) => values[name],
    set(name, value) {
      if (values[name] === value) return;
      values[name] = value;
      for (const act of [...(listeners["change:" + name] ?? [])]) act();
    },
    on: (name, act) => (listeners[name] ??= new Set()).add(act),
    off: (name, act) => listeners[name]?.delete(act),
    asks: () => values.state.stages[values.index].pending === "all"
      || (values.rewrite && values.state.stages[values.index].step?.rewrite !== values.rewrite),
    async save_changes() {
      this.quiet = Infinity;
      const { index, rewrite, asked } = values;
      const body = JSON.stringify({ index, rewrite, asked });
      const answer = await (await fetch("/", { method: "POST", body })).json();
      this.quiet = performance.now();
      for (const [name, value] of Object.entries(answer)) this.set(name, value);
    },
  };
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  widget.render({ model: window.model, el: document.body });
}"""


def chain(operators: int) -> Trace:
    x: relay.Expr = relay.var("data", shape=(1, 8, 8, 8))
    for n in range(operators):
        x = relay.add(x, x) if n % 7 == 3 else relay.erf(x) if n % 5 == 2 else nn.relu(x)
    mod = relay.IRModule.from_expr(x)
    return trace(mod, [InferType(), AnnotateTarget("dnnl"), PartitionGraph()], title="Chain")


def sent(act: Callable[[], Any]) -> float:
    """The time to create a part and its JSON, in seconds."""
    return timed(lambda: json.dumps(act()))[1]


def first_sent(made: Trace) -> list[Any]:
    """The messages that a new stepper sends before any request."""
    stepper = Stepper(made, index=0)
    return [stepper.state, stepper.answer]


def processor(made: Trace, index: int, rewrite: int) -> float:
    """The processor time of a new stepper's first step: to a stage, or to one of its rewrites."""
    with patch("byoc_lab.lab.view.stepper.AHEAD", 0):
        stepper = Stepper(Trace(made.stages, made.title), index=0)
    start = time.process_time()
    stepper.index = index
    stepper.rewrite = rewrite
    stepper.asked = {"stage": index, "rewrite": rewrite, "what": "picture", "page": "benchmark"}
    json.dumps(stepper.answer)
    return time.process_time() - start


def longest(operators: int) -> dict[str, float]:
    """The longest steps, each in a trace without any precomputed data."""
    inside = [
        processor(made, n, round(part * len(made[n].events)))
        for n in (1, 2)
        for part in FAR
        for made in [chain(operators)]
    ]
    whole = [processor(chain(operators), n, 0) for n in (1, 2)]
    return {"whole": max(whole), "inside": max(inside)}


def measured(operators: int) -> dict[str, float]:
    """Times in seconds, and the size of the page in MB."""
    made = chain(operators)
    parts = Parts(made)
    found = {
        "picture": sent(lambda: first_sent(made)),
        "ahead": max(sent(partial(parts.part, n)) for n in (1, 2)),
        "text": max(sent(partial(parts.part, n, "text")) for n in (1, 2)),
        **longest(operators),
    }
    if operators <= PAGE_UP_TO:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.html"
            found["page"] = timed(lambda: made.save_html(path))[1]
            found["MB"] = path.stat().st_size / 1e6
            found.update(in_browser(made, path))
    else:
        found.update(in_browser(made, None))
    return found


def in_browser(made: Trace, saved: Path | None) -> dict[str, float]:
    """Steps in a saved page and with a running kernel; nothing without a browser."""
    executable = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if executable is None or importlib.util.find_spec("playwright") is None:
        return {}
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        found = {}
        if saved:
            page.goto(saved.as_uri())
            page.locator(DRAWN).first.wait_for(timeout=60_000)
            keys = ["End", "Home", "ArrowRight", "ArrowRight", "ArrowLeft"]
            found["step"] = max(page.evaluate(KEYS, keys))
        found.update(with_kernel(browser, made))
        browser.close()
    return found


def with_kernel(browser: Any, made: Trace) -> dict[str, float]:
    """Steps that are computed on demand, and steps that were computed ahead."""
    last = len(made) - 1
    page = opened(browser, made, 0)
    (cold,) = page.evaluate(KEYS, ["End"])
    page = opened(browser, made, 0)
    page.wait_for_function("performance.now() - model.quiet > 1000", timeout=600_000)
    (jump,) = page.evaluate(KEYS, ["End"])
    found = {"cold": cold, "jump": jump, "rewrite": 0.0, "next": 0.0}
    for stage in range(1, last + 1):
        page = opened(browser, made, stage)
        page.wait_for_function("performance.now() - model.quiet > 1000", timeout=600_000)
        if events := len(made[stage].events):
            following = page.evaluate(KEYS, ["."] * min(NEXT, events))
            far = page.evaluate(KEYS, [round(part * events) for part in FAR])
            found["rewrite"] = max(found["rewrite"], *far)
            found["next"] = max(found["next"], *following)
    return found


def opened(browser: Any, made: Trace, index: int) -> Any:
    """A page that shows a new stepper at a stage, as in a notebook."""
    stepper = Stepper(Trace(made.stages, made.title), index=index)
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    page.goto(f"http://127.0.0.1:{Kernel(stepper).start()}/")
    values = {name: getattr(stepper, name) for name in SENT}
    page.evaluate(MODEL, {"esm": esm(), "values": values})
    page.locator(DRAWN).first.wait_for(timeout=60_000)
    return page


class Kernel:
    """Answers a page over HTTP: sets the traits that the page sends, and returns the others."""

    def __init__(self, stepper: Stepper):
        self.stepper = stepper

    def answer(self, sent: dict[str, Any]) -> dict[str, Any]:
        changed: dict[str, Any] = {}

        def hear(change: Any) -> None:
            changed[change["name"]] = change["new"]

        self.stepper.observe(hear, "answer")
        for name, value in sent.items():
            setattr(self.stepper, name, value)
        self.stepper.unobserve(hear, "answer")
        return changed

    def start(self) -> int:
        """Serve in a thread; returns the port."""
        kernel = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.reply(b"<!doctype html><title>kernel</title>")

            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.reply(json.dumps(kernel.answer(sent)).encode())

            def reply(self, content: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *words: Any) -> None:
                """Nothing: the table is the output."""

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_port


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000, 20000])
    options = parser.parse_args()
    found = {operators: measured(operators) for operators in options.sizes}
    rows = [
        [str(n), *(f"{row[name]:.2f}" if name in row else "" for name in COLUMNS)]
        for n, row in found.items()
    ]
    print(table(["operators", *COLUMNS], rows))
    misses = [
        f"{name} of {n} operators: {row[name]:.2f}, the limit is {limit}"
        for n, row in found.items()
        for name, limit in LIMITS.items()
        if n <= PAGE_UP_TO and row.get(name, 0) > limit
    ]
    write_json(options.out / "view_scaling.json", found)
    return verdict(misses)


if __name__ == "__main__":
    sys.exit(main())
