"""Notebooks in the page: their cells show the outputs that they show in a Jupyter kernel.

Compared for each output: the text; the kind (live widget, figure, HTML or text); and the words of
HTML, so that no table is lost. Not compared: drawings of widgets, which one front end makes in
both; pixels of figures, which are SVG here and PNG in Jupyter; and the HTML that Jupyter keeps
beside a widget for use without a kernel.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import expect

from byoc_lab.lab.view.bundles import WIDGET
from tests.hiding import PACKAGES, environment
from tests.notebooks.outputs import difference, lines_of
from tests.notebooks.test_elsewhere import NOTEBOOKS, executed
from tests.once import once
from tools.lite.stored import NEEDS

from .laboratory import Laboratory

pytestmark = pytest.mark.browser

QUICK = ("03_annotating_by_hand",)
NOT_IN_PAGE = PACKAGES | {"onnx", "torch"}
TIMEOUT = 300_000  # ms for all cells of a notebook


def shown_in_page(lab: Laboratory, name: str) -> list[Any]:
    """The code cells of a notebook, from its downloaded file, after all ran in a new Python."""
    lab.open(name)
    lab.page.get_by_role("button", name="Interrupt and restart").click()
    lab.settle()
    lab.page.get_by_role("button", name="Run all").click()
    expect(lab.page.locator("article:visible .cell[data-state=waiting]")).to_have_count(
        0, timeout=TIMEOUT
    )
    lab.settle()
    notebook = nbformat.read(lab.saved("Download"), as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown_natively(factory: pytest.TempPathFactory, path: Path) -> list[Any]:
    """The code cells of a notebook that ran in Jupyter; computed once for all browsers."""

    def run(folder: Path) -> list[Any]:
        hidden = folder / "hidden"
        hidden.mkdir()
        return list(executed(path, folder / "native", environment(hidden, NOT_IN_PAGE)))

    return once(factory, f"native-{path.stem}", run)


LIVE = """
() => [...document.querySelectorAll("article:not([hidden]) .cell[data-cell]")].map((cell) =>
  [...cell.querySelectorAll(".outputs > .shown")].map((shown) => !!shown.querySelector(".byl")))
"""
KINDS = {WIDGET: "widget", "image/svg+xml": "figure", "image/png": "figure", "text/html": "HTML"}


def kind_of(output: Any) -> str:
    return next((kind for mime, kind in KINDS.items() if mime in output.data), "text")


def kinds(outputs: list[Any], live: list[bool] | None = None) -> list[str]:
    """The kinds of output of a cell; a progress line that has ended displays nothing.

    live: for a cell of the page, which are widgets there.
    """
    displayed = [o for o in outputs if "data" in o and any(o.data.values())]
    are_widgets = [False] * len(displayed) if live is None else live
    return [
        "widget" if is_widget else kind_of(output)
        for output, is_widget in zip(displayed, are_widgets, strict=True)
    ]


class Words(HTMLParser):
    """Collects the words of HTML, without styles and scripts."""

    def __init__(self, text: str):
        super().__init__()
        self.found: list[str] = []
        self.feed(re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.S))

    def handle_data(self, data: str) -> None:
        self.found += data.split()


def words_of_html(outputs: list[Any]) -> list[str]:
    """The words of each output that is shown as HTML."""
    shown = [o.data["text/html"] for o in outputs if "data" in o and kind_of(o) == "HTML"]
    as_text = [{"output_type": "stream", "text": " ".join(Words(html).found)} for html in shown]
    return [line for output in as_text for line in lines_of([output])]


def without_repeated(outputs: list[Any]) -> list[Any]:
    """Outputs of Jupyter without the HTML copy of a widget for use without a kernel."""
    texts = [output.get("data", {}).get("text/plain") for output in outputs]
    repeated = {n + 1 for n, text in enumerate(texts[:-1]) if text and text == texts[n + 1]}
    return [output for n, output in enumerate(outputs) if n not in repeated]


@pytest.mark.parametrize(
    "path",
    [p if p.stem in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_notebook_shows_in_the_page_the_outputs_of_jupyter(
    lab: Laboratory, tmp_path_factory: pytest.TempPathFactory, path: Path
) -> None:
    found = shown_in_page(lab, path.stem)
    live = lab.page.evaluate(LIVE)
    native = shown_natively(tmp_path_factory, path)
    for number, (ours, theirs) in enumerate(zip(native, found, strict=True)):
        assert not [o for o in theirs.outputs if o.output_type == "error"], theirs.source
        wanted = without_repeated(ours.outputs)
        lines, shown = lines_of(wanted), lines_of(theirs.outputs)
        if NEEDS.search(ours.source):  # the stored output follows
            shown = shown[: len(lines)]
        else:
            assert kinds(theirs.outputs, live[number]) == kinds(wanted), theirs.source
            told = difference(words_of_html(wanted), words_of_html(theirs.outputs))
            assert not told, f"HTML of code cell {number}:\n{ours.source}\n{told}"
        told = difference(lines, shown)
        assert not told, f"code cell {number}:\n{ours.source}\n{told}"
