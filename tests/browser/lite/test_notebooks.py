"""Notebooks in the page: their cells show what they show in a Jupyter kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import expect

from tests.hiding import PACKAGES, environment
from tests.notebooks.outputs import difference, lines_of
from tests.notebooks.test_elsewhere import NOTEBOOKS, executed
from tests.once import once
from tools.lite.stored import NEEDS

from .laboratory import Laboratory

pytestmark = pytest.mark.browser

QUICK = ("03_annotating_by_hand",)
NOT_IN_PAGE = PACKAGES | {"onnx", "torch"}
PATIENCE = 300_000  # ms for all cells of a notebook


def shown_in_page(lab: Laboratory, name: str) -> list[Any]:
    """The code cells of a notebook after all were run in a new Python, from the file that it is
    downloaded as."""
    lab.show(name)
    lab.page.get_by_role("button", name="Reset").click()
    lab.page.get_by_role("button", name="Interrupt and restart").click()
    lab.settle()
    lab.page.get_by_role("button", name="Run all").click()
    expect(lab.page.locator("article:visible .cell[data-state=waiting]")).to_have_count(
        0, timeout=PATIENCE
    )
    lab.settle()
    notebook = nbformat.read(lab.saved("Download"), as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown_natively(factory: pytest.TempPathFactory, path: Path) -> list[Any]:
    """The code cells of a notebook that ran in Jupyter; once for all browsers."""

    def run(folder: Path) -> list[Any]:
        hidden = folder / "hidden"
        hidden.mkdir()
        return list(executed(path, folder / "native", environment(hidden, NOT_IN_PAGE)))

    return once(factory, f"native-{path.stem}", run)


def without_widgets(outputs: list[Any]) -> list[Any]:
    """Outputs of Jupyter without widgets that are followed by the same for use without a kernel."""
    texts = [output.get("data", {}).get("text/plain") for output in outputs]
    repeated = {n for n, text in enumerate(texts[:-1]) if text and text == texts[n + 1]}
    return [output for n, output in enumerate(outputs) if n not in repeated]


@pytest.mark.parametrize(
    "path",
    [p if p.stem in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_notebook_shows_in_the_page_what_it_shows_in_jupyter(
    lab: Laboratory, tmp_path_factory: pytest.TempPathFactory, path: Path
) -> None:
    found = shown_in_page(lab, path.stem)
    native = shown_natively(tmp_path_factory, path)
    for number, (ours, theirs) in enumerate(zip(native, found, strict=True)):
        assert not [o for o in theirs.outputs if o.output_type == "error"], theirs.source
        lines, shown = lines_of(without_widgets(ours.outputs)), lines_of(theirs.outputs)
        if NEEDS.search(ours.source):  # what is stored follows
            shown = shown[: len(lines)]
        told = difference(lines, shown)
        assert not told, f"code cell {number}:\n{ours.source}\n{told}"
