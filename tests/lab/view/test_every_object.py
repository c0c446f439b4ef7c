"""Every object of byoc_lab has a display: text, and HTML with the same content."""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from IPython.lib.pretty import pretty

import byoc_lab
from byoc_lab import coverage, explain, fix, lint, validate
from byoc_lab.backends.dnnl.kernel_table import CompiledKernel, CompiledKernels
from byoc_lab.lab.diffing import Diff
from byoc_lab.lab.explaining.entries import explain_patterns
from byoc_lab.lab.reducing import reduce
from byoc_lab.lab.view.board import Board
from byoc_lab.lab.view.bundles import publish
from byoc_lab.lab.view.graph import graph
from byoc_lab.lab.view.html import MAX_TEXT, as_text, saved
from byoc_lab.lab.view.stepper import Stepper
from byoc_lab.lessons.cases import all_cases, table
from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.verdict import Verdict
from byoc_lab.run.metering.cards import Cards, RegionCard, RegionInfo
from byoc_lab.run.metering.op_cards import OpCard

from .drawing.test_region_picture import residual_block
from .samples import annotated, chain, network

DISPLAYS = ("_repr_html_", "_repr_mimebundle_", "_repr_markdown_", "_ipython_display_")
MAKERS: dict[str, Callable[[], Any]] = {
    "module": lambda: chain()[0].before,
    "function": lambda: chain()[0].before["main"],
    "trace": chain,
    "stage": lambda: chain()[1],
    "events": lambda: chain()[2].events,
    "notes": lambda: chain()[2].notes,
    "diff": lambda: chain()[1].diff(),
    "comparison": lambda: byoc_lab.compare(chain(), chain(fixed=True)),
    "findings": lambda: lint(annotated(fixed=False)),
    "fix": lambda: fix(annotated(fixed=False)),
    "explanation": lambda: explain(chain()[0].before, "dnnl"),
    "report": lambda: validate(chain()[0].before, chain()[0].after),
    "coverage": lambda: coverage(chain()[0].before, "dnnl"),
    "coverages": lambda: coverage(chain()[0].before, ["dnnl", "ccompiler"]),
    "patterns": lambda: explain_patterns("dnnl", chain()[0].before),
    "cards": lambda: Cards(
        [RegionCard(RegionInfo("f", "dnnl", None, 1), 2, ops=(OpCard("nn.dense_0", "gemm"),))]
    ),
    "case": lambda: next(iter(all_cases())),
    "exercise": lambda: next(iter(all_exercises())),
    "variant": lambda: next(iter(all_exercises())).with_seed(1),
    "verdict": lambda: Verdict(False, ("a → b",), "key", ("look", "think", "try")),
    "cases": lambda: table(),
    "decoded": lambda: byoc_lab.decode("Check failed: ● free variables", annotated(fixed=False)),
    "reduction": lambda: reduce(chain()[0].before, lambda mod: "relu" in mod.astext()),
    "kernels": lambda: CompiledKernels([CompiledKernel("a", "jit", {"x": "ab"}, (), (), 1.0)]),
    "region": residual_block,
    "graph": lambda: graph(chain()[0].before),
    "board": lambda: Board(network()),
    "saved diff": lambda: Diff.from_json(chain()[1].diff().to_json()),
    "stepper": lambda: Stepper(chain()),
}
OBJECTS = {name: cache(make) for name, make in MAKERS.items()}


def bundle_of(obj: Any) -> dict[str, Any]:
    """The MIME bundle that Jupyter would make of the object."""
    if hasattr(obj, "_repr_mimebundle_"):
        return dict(obj._repr_mimebundle_())
    kinds = {"text/html": "_repr_html_", "text/markdown": "_repr_markdown_"}
    shown = {kind: getattr(obj, name)() for kind, name in kinds.items() if hasattr(obj, name)}
    return {"text/plain": str(obj), **shown}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.native) if n == "report" else n for n in OBJECTS],
)
def test_object_has_text_and_a_drawing_or_html(name: str) -> None:
    bundle = bundle_of(OBJECTS[name]())
    assert bundle["text/plain"].strip()
    drawn = ("text/html", "text/markdown", "image/svg+xml")
    assert name == "saved diff" or any(bundle.get(kind, "").strip() for kind in drawn)
    assert not bundle["text/plain"].startswith("<byoc_lab."), "the address of an object"


def shown_classes() -> set[str]:
    """The classes in the package that define a display for Jupyter."""
    root = Path(byoc_lab.__file__).parent
    sources = (path.read_text(encoding="utf-8") for path in root.rglob("*.py"))
    return {
        found.name
        for source in sources
        if any(name in source for name in DISPLAYS)
        for found in ast.walk(ast.parse(source))
        if isinstance(found, ast.ClassDef)
        and any(isinstance(f, ast.FunctionDef) and f.name in DISPLAYS for f in found.body)
    }


def test_every_class_with_a_display_has_a_sample() -> None:
    sampled = {kind.__name__ for make in OBJECTS.values() for kind in type(make()).__mro__}
    assert shown_classes() - sampled == set()


@pytest.mark.parametrize("name", OBJECTS)
def test_mime_bundles_contain_plain_str_and_dict_only(name: str) -> None:
    """Not every notebook can send a subclass of str: msgspec, which marimo uses, refuses it."""
    shown = bundle_of(OBJECTS[name]())
    assert {kind: type(data) for kind, data in shown.items() if type(data) not in (str, dict)} == {}


@pytest.mark.parametrize("name", OBJECTS)
def test_ipython_shows_the_text_in_full(name: str) -> None:
    obj = OBJECTS[name]()
    if not hasattr(obj, "_repr_mimebundle_"):  # IPython displays the text of a bundle
        assert pretty(obj) == str(obj)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("name", OBJECTS)
def test_object_is_printed_in_any_encoding(
    name: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj = OBJECTS[name]()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    print(obj, flush=True)


def test_notebook_gets_the_widget_and_html_for_use_without_a_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    publish(Stepper(chain()))
    live, kept = shown
    assert set(live) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
    assert set(kept) == {"text/plain", "text/html"}
    assert "byl-saved" in kept["text/html"] and "srcdoc=" in kept["text/html"]
    assert "loading=" in kept["text/html"], "a hidden frame costs nothing"
    assert "PartitionGraph" in kept["text/html"].split("</iframe>")[1], "the text, for GitHub"


def test_long_texts_are_truncated_and_escaped() -> None:
    hostile = "<img src=x onerror=alert(1)>" + "x" * MAX_TEXT
    shown = saved("<i>picture</i>", hostile, "one")
    assert "<img" not in shown and "…" in shown
    assert len(shown) < MAX_TEXT + 3000
    assert saved(as_text("a"), "a", "one").count("<pre>") == 1


class _Cells(HTMLParser):
    """Collects the cells of tables, and the cells without an alignment."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = 0
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("td", "th"):
            self.cells += 1
            if "text-align:" not in (dict(attrs).get("style") or ""):
                self.open.append(tag)


@pytest.mark.parametrize("name", ["explanation", "coverage", "coverages", "patterns", "cards"])
def test_each_cell_states_its_alignment(name: str) -> None:
    """By default, Jupyter's style sheet aligns cells to the right."""
    parser = _Cells()
    parser.feed(OBJECTS[name]()._repr_html_())
    assert parser.cells and not parser.open


def test_tables_in_notebooks_are_made_by_one_function() -> None:
    """Other tables are on separate pages with their own style sheets."""
    root = Path(byoc_lab.__file__).parent
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if "<table>" in path.read_text(encoding="utf-8")
    }
    assert found == {"markup.py", "lessons/table.py", "lessons/grading/feedback.py"}
