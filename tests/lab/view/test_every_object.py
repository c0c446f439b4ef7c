"""Every object of the laboratory displays itself, as text and as HTML of the same content."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab import coverage, explain, fix, lint, validate
from byoc_lab.lab.explaining.pattern_report import explain_patterns
from byoc_lab.lab.view.bundles import publish
from byoc_lab.lab.view.html import MAX_TEXT, as_text, saved
from byoc_lab.lab.view.stepper import Stepper
from byoc_lab.lessons.cases import all_cases
from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.run.metering.cards import Cards, OpCard, RegionCard, RegionFacts

from .samples import annotated, chain

OBJECTS: dict[str, Callable[[], Any]] = {
    "module": lambda: chain()[0].before,
    "function": lambda: chain()[0].before["main"],
    "trace": chain,
    "stage": lambda: chain()[1],
    "events": lambda: chain()[2].events,
    "notes": lambda: chain()[2].notes,
    "diff": lambda: chain()[1].diff(),
    "findings": lambda: lint(annotated(fixed=False)),
    "fix": lambda: fix(annotated(fixed=False)),
    "explanation": lambda: explain(chain()[0].before, "dnnl"),
    "report": lambda: validate(chain()[0].before, chain()[0].after),
    "coverage": lambda: coverage(chain()[0].before, "dnnl"),
    "coverages": lambda: coverage(chain()[0].before, ["dnnl", "ccompiler"]),
    "patterns": lambda: explain_patterns("dnnl", chain()[0].before),
    "cards": lambda: Cards(
        [RegionCard(RegionFacts("f", "dnnl", None, 1), 2, ops=(OpCard("nn.dense_0", "gemm"),))]
    ),
    "case": lambda: next(iter(all_cases())),
    "exercise": lambda: next(iter(all_exercises())),
    "stepper": lambda: Stepper(chain()),
}


def bundle_of(obj: Any) -> dict[str, Any]:
    """What Jupyter would make of it."""
    if hasattr(obj, "_repr_mimebundle_"):
        return dict(obj._repr_mimebundle_())
    kinds = {"text/html": "_repr_html_", "text/markdown": "_repr_markdown_"}
    shown = {kind: getattr(obj, name)() for kind, name in kinds.items() if hasattr(obj, name)}
    return {"text/plain": str(obj), **shown}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.native) if n == "report" else n for n in OBJECTS],
)
def test_it_displays_itself(name: str) -> None:
    bundle = bundle_of(OBJECTS[name]())
    assert bundle["text/plain"].strip()
    assert (bundle.get("text/html") or bundle.get("text/markdown", "")).strip()
    assert not bundle["text/plain"].startswith("<byoc_lab."), "the address of an object"


def test_a_notebook_gets_the_widget_and_html_for_when_it_is_gone(
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


def test_long_texts_are_cut_and_quoted() -> None:
    hostile = "<img src=x onerror=alert(1)>" + "x" * MAX_TEXT
    shown = saved("<i>picture</i>", hostile)
    assert "<img" not in shown and "…" in shown
    assert len(shown) < MAX_TEXT + 2000
    assert saved(as_text("a"), "a").count("<pre>") == 1


class _Cells(HTMLParser):
    """The cells of tables, and those that state no alignment."""

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
    """Jupyter's style sheet aligns cells to the right."""
    parser = _Cells()
    parser.feed(OBJECTS[name]()._repr_html_())
    assert parser.cells and not parser.open


def test_tables_in_notebooks_come_from_one_function() -> None:
    """What is a page of its own has a style sheet of its own."""
    root = Path(byoc_lab.__file__).parent
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if "<table>" in path.read_text(encoding="utf-8")
    }
    assert found == {"markup.py", "lessons/table.py", "lessons/grading/feedback.py"}
