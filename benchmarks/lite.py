"""Measures the size and the times of the laboratory in one file, which `make lite` writes.

Opens build/lite/byoc_lab.html in Chromium, from disk and without a network, `--repeat` times:
seconds from the start of the page until its first picture, until Python is ready, and until the
first lint is shown; the minimum of each, and the processor time of all processes of the browser.
Then it runs the same tasks in the page and in native Python alternately, and compares the minimum
processor times (of the whole browser). A task is repeated until it takes at least a second, so that
the time of the editor and of the output is negligible.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from report import arguments, seconds, table, timed, verdict, write_json

LITE = Path(__file__).resolve().parents[1] / "build" / "lite"
PAGE = LITE / "byoc_lab.html"
SITE = ("index.html", "python.bin", "files.bin")
MAX_MB = 50
FIRST_LINT = 10  # limit in seconds
SLOWER = 2  # limit as a multiple of native Python
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
TICKS = os.sysconf("SC_CLK_TCK")  # clock ticks per second
TIMEOUT = 300_000  # ms
LINT = """\
import byoc_lab
from byoc_lab.lessons import cases
byoc_lab.lint(cases.get("nested-partition").module())
"""
SETUP = """\
import byoc_lab
from byoc_lab import relay
from byoc_lab.lessons import cases, check, mobilenet

network = mobilenet.module()
text = network.astext()
broken = cases.get("nested-partition").module()
"""
TASKS = {
    "parse MobileNet": (20, "relay.parse(text)"),
    "trace MobileNet": (15, 'byoc_lab.trace(network, "dnnl")'),
    "lint MobileNet": (10, 'byoc_lab.lint(network, "dnnl")'),
    "lint a case": (500, "byoc_lab.lint(broken)"),
    "fix a case": (100, "byoc_lab.fix(broken)"),
    "judge an exercise": (200, "check('fix-the-name', lambda name: name.replace('edu_', 'edu.'))"),
}
"""The number of repetitions of each task, and its code."""
WATCH = """
window.seen = {};
new MutationObserver(() => {
  const note = (name, there) => there && (seen[name] ??= performance.now() / 1000);
  note("stepper of the first screen", document.querySelector("#play-shown .byl[data-ready]"));
  note("Python ready", document.body?.dataset.python === "ready");
}).observe(document, { subtree: true, childList: true, attributes: true });
"""
OPENED = ("first picture", "stepper of the first screen", "Python ready", "first lint")


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(page: Any) -> dict[str, float]:
    """The time from the start of the page to each event in OPENED, in seconds."""
    page.add_init_script(WATCH)
    page.goto(PAGE.as_uri())
    page.locator("#play-shown .byl[data-ready]").wait_for(timeout=TIMEOUT)
    page.evaluate("() => { location.hash = '03_annotating_by_hand' }")
    run_cell(page, LINT)
    page.locator("article:visible .cell .shown").first.wait_for(timeout=TIMEOUT)
    lint = page.evaluate("() => performance.now() / 1000")
    paint = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
    found: dict[str, float] = page.evaluate("() => seen")
    return {**found, "first picture": page.evaluate(paint), "first lint": lint}


def run_cell(page: Any, source: str) -> None:
    """Replace the code of the first cell, and run it when Python is ready."""
    cell = page.locator("article:visible .cell").first
    cell.locator(".cm-content").click(timeout=TIMEOUT)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(source)
    page.keyboard.press("ControlOrMeta+Enter")


def processor_seconds(parent: int) -> float:
    """The processor time of all child processes of a process."""
    spent = 0.0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # the process has exited
            continue
        if int(fields[1]) == parent:
            own = (int(fields[11]) + int(fields[12])) / TICKS
            spent += own + processor_seconds(int(status.parent.name))
    return spent


def compared(page: Any) -> Iterator[tuple[str, float, float]]:
    """The processor time of each task in the page and in native Python, in seconds."""
    names: dict[str, Any] = {}
    exec(SETUP, names)
    finish(page, SETUP)
    for name, (turns, code) in TASKS.items():
        finish(page, code)  # imports, and growth of memory
        exec(code, names)
        repeated = f"for _ in range({turns}):\n    {code}"
        before = processor_seconds(os.getpid())
        finish(page, repeated)
        spent = processor_seconds(os.getpid()) - before
        native = timed(partial(exec, compile(repeated, name, "exec"), names), time.process_time)[1]
        yield name, spent / turns, native / turns


def finish(page: Any, source: str) -> None:
    """Run code in the first cell until it has finished."""
    run_cell(page, f"{source}\nprint('done', {page.evaluate('() => performance.now()')})")
    page.locator("article:visible .cell[data-state=done]").first.wait_for(timeout=TIMEOUT)
    page.locator("body[data-python=ready]").wait_for(timeout=TIMEOUT)


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeat", type=int, default=3, help="how often the page is opened")
    options = parser.parse_args()
    weight = {path.name: path.stat().st_size / 1e6 for path in (PAGE, *(LITE / n for n in SITE))}
    print(table(["file", "MB"], [[name, f"{mb:.1f}"] for name, mb in weight.items()]))
    turns, spent = [], []
    taken, native = dict.fromkeys(TASKS, math.inf), dict.fromkeys(TASKS, math.inf)
    for _ in range(options.repeat):
        with chromium() as browser:  # a new browser: the times of exited processes are lost
            page = browser.new_context(offline=True).new_page()
            before = processor_seconds(os.getpid())
            turns.append(opened(page))
            spent.append(processor_seconds(os.getpid()) - before)
            for name, ours, theirs in compared(page):
                taken[name] = min(taken[name], ours)
                native[name] = min(native[name], theirs)
            page.context.close()
    least = {name: min(turn[name] for turn in turns) for name in OPENED}
    print(table(["from opening until", "least"], [[n, seconds(s)] for n, s in least.items()]))
    print(f"processor time until the first lint: {seconds(min(spent))}")
    ratios = {name: taken[name] / native[name] for name in native}
    rows = [[n, seconds(taken[n]), seconds(native[n]), f"{ratios[n]:.2f}"] for n in native]
    print(table(["work", "page", "native", "times"], rows))
    write_json(
        options.out / "lite.json",
        {
            "megabytes": weight,
            "seconds_until": least,
            "processor_seconds_until_first_lint": min(spent),
            "seconds_in_page": taken,
            "seconds_native": native,
        },
    )
    missed = [f"{PAGE.name} has {weight[PAGE.name]:.1f} MB"] * (weight[PAGE.name] > MAX_MB)
    if min(spent) > FIRST_LINT:
        missed.append(f"first lint after {seconds(min(spent))} of processor time")
    missed += [f"{n}: {r:.2f} times native" for n, r in ratios.items() if r > SLOWER]
    return verdict(missed)


if __name__ == "__main__":
    sys.exit(main())
