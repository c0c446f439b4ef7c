"""The stepper and tables of results in marimo."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .widget_page import NewPage

pytestmark = pytest.mark.browser
pytest.importorskip("marimo", reason="marimo is not installed (pip install marimo)")

MARIMO = """
import marimo
app = marimo.App()

@app.cell
def _():
    import byoc_lab
    from byoc_lab import relay
    x = relay.var("x", shape=(1, 4))
    mod = relay.IRModule.from_expr(relay.nn.relu(x + relay.exp(x)))
    byoc_lab.trace(mod, "dnnl")
    return byoc_lab, mod

@app.cell
def _(byoc_lab, mod):
    byoc_lab.explain(mod, "dnnl")
    return

@app.cell
def _(byoc_lab, mod):
    import numpy
    built = byoc_lab.build(byoc_lab.dnnl.partition_for_dnnl(mod))
    built.run([numpy.ones((1, 4), "float32")])
    built.cards()
    return
"""


def steps(page: Any) -> None:
    """Steps from the first stage to the second, in a light page; no stored copy may be visible."""
    root = page.locator(".byl[data-ready]").first
    root.wait_for()
    page.locator('.byl[data-theme="light"]').first.wait_for()
    root.locator(".byl-next").click()
    page.locator('.byl[data-index="1"]').wait_for()
    assert page.locator(".byl-saved:visible").count() == 0, "the stored copy of a live widget"


def address_in(log: Path, server: subprocess.Popen[bytes]) -> str:
    """The address that a server prints once it listens."""
    for _ in range(1200):
        said = log.read_text(errors="replace")
        assert server.poll() is None, said
        found = re.search(r"http://localhost:(\d+)", said)
        with socket.socket() as trial:
            if found and trial.connect_ex(("127.0.0.1", int(found.group(1)))) == 0:
                return f"http://127.0.0.1:{found.group(1)}"
        time.sleep(0.1)
    raise AssertionError(f"marimo has not started:\n{said}")


@contextmanager
def marimo(folder: Path) -> Iterator[str]:
    """Runs a marimo server that shows the notebook; gives its address."""
    notebook, log = folder / "notebook.py", folder / "log"
    notebook.write_text(MARIMO)
    command = [sys.executable, "-m", "marimo", "run", "--headless", "--no-token", str(notebook)]
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield address_in(log, server)
    finally:
        server.kill()
        server.wait()


def test_objects_are_displayed_in_marimo(new_page: NewPage, tmp_path: Path) -> None:
    with marimo(tmp_path) as address:
        page = new_page(color_scheme="light")
        page.goto(address)
        steps(page)
        page.get_by_text("3 of 3 calls offloaded to dnnl").wait_for()
        page.locator("table", has_text="ran on").wait_for()
        page.close()
