"""Time to the first picture of a trace, per step, and to its saved page, as modules grow.

    python benchmarks/view_scaling.py [--sizes 1000 5000 20000]

Each module is a chain of element-wise operators, annotated and partitioned for DNNL. The columns:
picture (the first stage, from the finished trace), ahead (the graph of a stage, the longest: the
page asks for it while its neighbour is shown), text (differences and findings of a stage, the
longest; the graph does not wait for them), page (seconds to write it, and MB; up to 5,000
operators), step (in the saved page in Chromium, the longest from the key to the drawn stage; blank
without Chromium). Wall clock.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from report import arguments, table, timed, verdict, write_json

from byoc_lab import relay
from byoc_lab.lab.tracing import Trace, trace
from byoc_lab.lab.view.states.parts import Parts
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import nn

PAGE_UP_TO = 5000
COLUMNS = ("picture", "ahead", "text", "page", "MB", "step")
LIMITS = {"picture": 2, "step": 0.3, "page": 10, "MB": 8}  # up to 5,000 operators; seconds and MB
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
STEPS = """async () => {
  const root = document.querySelector(".byl");
  const shown = () => !root.querySelector(".byl-scene[data-busy]");
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const times = [];
  for (const key of ["End", "Home", "ArrowRight", "ArrowRight", "ArrowLeft"]) {
    while (!shown()) await frame();
    const start = performance.now();
    root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    do await frame(); while (!shown());
    times.push((performance.now() - start) / 1000);
  }
  return times;
}"""


def chain(operators: int) -> Trace:
    x: relay.Expr = relay.var("data", shape=(1, 8, 8, 8))
    for n in range(operators):
        x = relay.add(x, x) if n % 7 == 3 else relay.erf(x) if n % 5 == 2 else nn.relu(x)
    mod = relay.IRModule.from_expr(x)
    return trace(mod, [InferType(), AnnotateTarget("dnnl"), PartitionGraph()], title="Chain")


def sent(act: Callable[[], Any]) -> float:
    """Seconds to make a part and its JSON."""
    return timed(lambda: json.dumps(act()))[1]


def measured(operators: int) -> dict[str, float]:
    """Seconds, and the size of the page in MB."""
    made = chain(operators)
    parts = Parts(made)
    found = {
        "picture": sent(parts.outline) + sent(lambda: parts.part(0)),
        "ahead": max(sent(partial(parts.part, n)) for n in (1, 2)),
        "text": max(sent(partial(parts.part, n, "text")) for n in (1, 2)),
    }
    if operators <= PAGE_UP_TO:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.html"
            found["page"] = timed(lambda: made.save_html(path))[1]
            found["MB"] = path.stat().st_size / 1e6
            found.update(stepped(path))
    return found


def stepped(path: Path) -> dict[str, float]:
    """The longest step in a saved page; nothing without a browser."""
    executable = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if executable is None or importlib.util.find_spec("playwright") is None:
        return {}
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.goto(path.as_uri())
        page.locator(".byl-scene:not([data-busy]) .byl-box").first.wait_for(timeout=60_000)
        times = page.evaluate(STEPS)
        browser.close()
    return {"step": max(times)}


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
