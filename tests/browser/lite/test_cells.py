"""Cells of the laboratory in one file, opened from disk, without a network: Python runs in the
page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import expect

from byoc_lab.lessons import cases
from tools.docs.examples import DOCS

from .laboratory import Laboratory

pytestmark = pytest.mark.browser

ELEMENT = 1000  # bytes, at least


def test_cells_are_editable_before_python_runs(lab: Laboratory) -> None:
    lab.show("00_start_here")
    expect(lab.cell("import byoc_lab").locator(".cm-content")).to_be_editable()


def test_lint_finds_the_missing_begin_after_opening(lab: Laboratory) -> None:
    lab.open("03_annotating_by_hand")
    broken = lab.cell("byoc_lab.lint(broken)")
    lab.run(broken, "Run the cells above and this one")
    expect(broken).to_have_attribute("data-state", "done")
    expect(broken.locator(".byl")).to_contain_text("BYL001")


def test_stepper_steps_and_python_follows(lab: Laboratory) -> None:
    lab.open("01_one_region")
    shown = lab.cell("byoc_lab.trace(mod")
    lab.write(
        shown, "from byoc_lab.lab.view import Stepper\nshown = Stepper(byoc_lab.trace(mod))\nshown"
    )
    lab.run(shown, "Run the cells above and this one")
    stepper = shown.locator(".byl[data-ready]")
    before = int(stepper.get_attribute("data-index"))
    stepper.locator(".byl-next").click()
    expect(stepper).to_have_attribute("data-index", str(before + 1))
    after = lab.cell("byoc_lab.build")
    lab.write(after, "shown.index += 1\nprint('Python is at', shown.index)")
    lab.run(after)
    expect(after.locator(".stdout")).to_have_text(f"Python is at {before + 2}\n")
    expect(stepper).to_have_attribute("data-index", str(before + 2))


def test_edited_cell_runs_and_is_kept(lab: Laboratory) -> None:
    lab.open("02_reading_relay")
    cell = lab.cell("relay.parse(text)")
    lab.write(cell, "print(6 * 7)\n1 / 0")
    lab.run(cell)
    expect(cell.locator(".stdout")).to_have_text("42\n")
    expect(cell.locator(".error")).to_contain_text("line 2, in <module>")
    expect(cell.locator(".error")).to_contain_text("ZeroDivisionError: division by zero")
    key = "(key) => localStorage.getItem(key)"
    assert lab.page.evaluate(key, "byoc_lab/02_reading_relay/02-02") == "print(6 * 7)\n1 / 0"


def test_replaced_code_loses_its_outputs(lab: Laboratory) -> None:
    lab.open("02_reading_relay")
    cell = lab.page.locator("article:visible .cell").first
    lab.write(cell, "1 / 0")
    lab.run(cell)
    expect(cell).to_have_attribute("data-state", "failed")
    lab.write(cell, "print(1)")
    expect(cell).to_have_attribute("data-state", "stale")
    lab.page.get_by_role("button", name="Reset").click()
    expect(cell).to_have_attribute("data-state", "")
    expect(cell.locator(".outputs > *")).to_have_count(0)


REGION = """
from byoc_lab.backends.dnnl import partition_for_dnnl
from byoc_lab.backends.dnnl.codegen import region_graph
from byoc_lab.lab.view import graph
from byoc_lab.lessons.cases import fused_ops

mod = partition_for_dnnl(fused_ops.network())
(function,) = [mod[name] for name in mod.functions if "Compiler" in mod[name].attrs]
display(graph(mod))
region_graph(function, "a_region").graph
"""


def test_graph_of_a_module_is_a_live_widget_and_graph_of_a_region_is_text(lab: Laboratory) -> None:
    lab.open("02_reading_relay")
    cell = lab.page.locator("article:visible .cell").first
    lab.write(cell, REGION)
    lab.run(cell)
    expect(cell).to_have_attribute("data-state", "done")
    expect(cell.locator(".shown .byl[data-ready]")).to_contain_text("nn.conv2d")
    expect(cell.locator(".shown > pre")).to_contain_text("conv2d + bias + relu")


def test_board_in_a_cell_moves_an_operator_and_python_follows(lab: Laboratory) -> None:
    lab.open("01_one_region")
    cell = lab.cell("import byoc_lab")
    mod = "relay.IRModule.from_expr(relay.exp(relay.nn.relu(relay.var('x', shape=(1, 8)))))"
    lab.write(
        cell, f"import byoc_lab\nfrom byoc_lab import relay\nboard = byoc_lab.board({mod})\nboard"
    )
    lab.run(cell)
    board = cell.locator(".byl[data-ready]")
    board.locator(".byl-box.byl-op", has_text="nn.relu").first.click()
    board.locator(".byl-put").click()
    expect(board.locator(".byl-put")).to_have_text("Take out")
    after = lab.cell("byoc_lab.build")
    lab.write(after, "print(board.stats)")
    lab.run(after)
    expect(after.locator(".stdout")).to_have_text("{'offloaded': 1, 'host': 1, 'regions': 1}\n")


def test_names_of_the_running_python_are_completed_with_their_signatures(lab: Laboratory) -> None:
    lab.open("01_one_region")
    cell = lab.cell("import byoc_lab")
    lab.write(cell, "import byoc_lab")
    lab.run(cell)
    lab.settle()
    lab.write(cell, "")
    cell.locator(".cm-content").press_sequentially("byoc_lab.load_tr")
    offered = cell.locator(".cm-tooltip-autocomplete li")
    expect(offered).to_have_text(["load_trace"])
    expect(cell.locator(".cm-completionInfo")).to_contain_text("(path: str | Path, *, max_bytes")
    offered.click()
    expect(cell.locator(".cm-content")).to_have_text("byoc_lab.load_trace")


def test_figure_is_drawn_as_svg(lab: Laboratory) -> None:
    lab.open("02_reading_relay")
    cell = lab.cell("ToANormalForm")
    lab.write(cell, "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])")
    lab.run(cell)
    expect(cell.locator(".shown > svg")).to_be_visible()
    expect(cell.locator(".stderr")).to_have_count(0)


def test_table_of_cases_is_searched_in_its_frame(lab: Laboratory) -> None:
    lab.open("02_reading_relay")
    cell = lab.page.locator("article:visible .cell").first
    lab.write(cell, "from byoc_lab.lessons import cases\ncases")
    lab.run(cell)
    table = cell.frame_locator("iframe")
    rows = table.locator("tbody tr:visible")
    count = len(cases.table())
    expect(table.locator("#count")).to_have_text(f"{count} of {count} cases")
    table.locator("#find").fill("shadowed-pattern")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("shadowed-pattern")


def test_endless_cell_is_interrupted_and_the_next_one_runs(lab: Laboratory) -> None:
    lab.open("04_annotate_merge_partition")
    cell = lab.cell("def diamond")
    lab.write(cell, "print('begun')\nkept = 1\nwhile True:\n    pass")
    lab.run(cell)
    expect(cell.locator(".stdout")).to_have_text("begun\n")
    lab.page.get_by_role("button", name="Interrupt and restart").click()
    expect(cell.locator(".error")).to_contain_text("Interrupted")
    lab.settle()
    seen = "open('seen', 'a').write('x') and len(open('seen').read())"  # a restart deletes files
    code = "from byoc_lab.lessons import cases\nimport byoc_lab\nprint('kept' in globals())\n"
    lab.write(cell, f"{code}print({seen})\nbyoc_lab.lint(cases.get('nested-partition').module())")
    lab.run(cell)
    expect(cell.locator(".stdout")).to_have_text("False\n1\n")
    expect(cell.locator(".byl")).to_contain_text("BYL001")


@pytest.mark.slow
def test_a_hundred_cells_leave_memory_bounded(lab: Laboratory) -> None:
    lab.open("03_annotating_by_hand")
    cell = lab.cell("import")
    made = "from byoc_lab.lessons import cases\ncase = cases.get('simplify-after-annotate')\n"
    lab.write(cell, f"import byoc_lab\n{made}byoc_lab.trace(case.plain(), case.passes())")
    before = memory(lab, cell, runs=20)
    after = memory(lab, cell, runs=100)
    assert after["page"] < before["page"] + 5e6
    assert after["Python"] < before["Python"] + 5e6


def memory(lab: Laboratory, cell: Any, runs: int) -> dict[str, float]:
    """The bytes that the page and Python use after a cell has run several times."""
    for _ in range(runs):
        lab.run(cell)
        expect(cell).to_have_attribute("data-state", "done")
    lab.settle()
    said = lab.page.locator("#status").get_attribute("title")
    return {"page": used(lab), "Python": 1e6 * float(re.search(r"\d+", said)[0])}


def used(lab: Laboratory) -> float:
    """The bytes of the page's objects; in Firefox, which does not report them, of its elements."""
    if not lab.is_chromium:
        return ELEMENT * float(lab.page.locator("*").count())
    devtools = lab.page.context.new_cdp_session(lab.page)
    devtools.send("HeapProfiler.collectGarbage")
    found: float = devtools.send("Runtime.getHeapUsage")["usedSize"]
    devtools.detach()
    return found


def test_page_cannot_reach_the_network(lab: Laboratory) -> None:
    refused = """async () => {
      const violated = new Promise((told) => {
        document.addEventListener("securitypolicyviolation", told, { once: true });
      });
      const error = await fetch("http://127.0.0.1:9/").then(() => "sent", String);
      return [error, (await violated).effectiveDirective];
    }"""
    error, directive = lab.page.evaluate(refused)
    assert error.startswith("TypeError")
    assert directive == "connect-src"


LIMITS = """
import importlib, shutil, socket, subprocess, threading
from functools import partial

actions = {
    "a thread": lambda: threading.Thread(target=print).start(),
    "a process": lambda: subprocess.Popen(["true"]),
    "a connection": lambda: socket.create_connection(("127.0.0.1", 9)),
    **{name: partial(importlib.import_module, name) for name in ("tvm", "onnx", "torch")},
}
for name, action in actions.items():
    try:
        action()
        print(name)
    except (ImportError, OSError, RuntimeError, AttributeError):
        pass
print([name for name in ("cc", "gcc", "clang") if shutil.which(name)])
"""


def test_page_lacks_each_feature_that_its_documentation_excludes(lab: Laboratory) -> None:
    said = " ".join((DOCS / "lite.md").read_text(encoding="utf-8").split())
    assert "The page has no C compiler, no apache-tvm, no ONNX and no PyTorch." in said
    assert "There are no threads, no processes and no network" in said
    lab.open("02_reading_relay")
    cell = lab.cell("import")
    lab.write(cell, LIMITS)
    lab.run(cell)
    expect(cell).to_have_attribute("data-state", "done")
    expect(cell.locator(".stdout")).to_have_text("[]\n")


def test_cell_that_needs_a_compiler_says_so_and_shows_its_stored_output(lab: Laboratory) -> None:
    lab.open("10_the_same_in_c")
    cell = lab.cell("def relu_in_c")
    lab.run(cell)
    expect(cell.locator(".stdout")).to_contain_text("a C compiler")
    expect(cell.locator(".missing")).to_contain_text("Where that is installed, the cell shows:")
    expect(cell.locator(".missing + .shown")).to_contain_text("output")


def test_shown_html_and_uploads_run_no_scripts(lab: Laboratory, tmp_path: Path) -> None:
    lab.open("05_patterns_order_names")
    cell = lab.cell("import")
    hostile = (
        "<img src='data:,' onerror='document.title=1'><script>document.title=2</script><b>shown</b>"
    )
    source = f'class Shown:\n    def _repr_html_(self):\n        return """{hostile}"""\nShown()'
    written = {"id": cell.get_attribute("data-cell"), "cell_type": "code", "source": source}
    path = tmp_path / "given.ipynb"
    path.write_text(json.dumps({"cells": [written]}), encoding="utf-8")
    lab.page.locator("#uploaded").set_input_files(path)
    expect(cell.locator(".cm-content")).to_contain_text("onerror")
    expect(cell.locator(".outputs > *")).to_have_count(0)
    lab.run(cell)
    expect(cell.locator(".shown b")).to_have_text("shown")
    assert "byoc_lab" in lab.page.title()


HOSTILE = {
    "not JSON": "{",
    "not UTF-8": b"\xff\xfe",
    "nested": "[" * 3_000_000,
    "null": "null",
    "not a list of cells": '{"cells": {"length": 1}}',
    "cells that are null": '{"cells": [null, 1, "x"]}',
    "code that is an object": '{"cells": [{"id": ID, "source": {"toString": 1}}]}',
    "lines that are objects": '{"cells": [{"id": ID, "source": ["x", {}]}]}',
    "a name of objects": '{"cells": [{"id": "__proto__", "source": "x"}]}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_notebook_changes_nothing_and_is_refused_with_a_message(
    lab: Laboratory, tmp_path: Path, name: str
) -> None:
    lab.open("05_patterns_order_names")
    cell = lab.cell("import")
    before = cell.locator(".cm-content").inner_text()
    given = HOSTILE[name]
    own = json.dumps(cell.get_attribute("data-cell"))
    path = tmp_path / "given.ipynb"
    path.write_bytes(given if isinstance(given, bytes) else given.replace("ID", own).encode())
    lab.page.locator("#uploaded").set_input_files(path)
    expect(lab.page.locator("#words")).to_have_text("given.ipynb has no cell of this notebook")
    assert cell.locator(".cm-content").inner_text() == before


def test_downloaded_notebook_has_the_typed_code_and_the_outputs(lab: Laboratory) -> None:
    lab.open("06_why_was_it_not_offloaded")
    cell = lab.cell("import numpy")
    lab.write(cell, "print('kept')")
    lab.run(cell)
    expect(cell.locator(".stdout")).to_have_text("kept\n")
    notebook = nbformat.read(lab.saved("Download"), as_version=4)
    nbformat.validate(notebook)
    code = next(c for c in notebook.cells if c.cell_type == "code")
    assert code.source == "print('kept')"
    assert code.outputs == [{"output_type": "stream", "name": "stdout", "text": "kept\n"}]
