"""The notebooks of exercises in the repository are those that the exercises give."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading.handout import write_notebooks
from byoc_lab.lessons.grading.notebooks import dumps, with_solution

ROOT = Path(__file__).parents[3]


def test_the_notebooks_are_up_to_date(tmp_path: Path) -> None:
    written = write_notebooks(tmp_path)
    kept = {p.name: p.read_text(encoding="utf-8") for p in (ROOT / "notebooks/exercises").iterdir()}
    assert kept == {p.name: p.read_text(encoding="utf-8") for p in written}, (
        "run `python -m byoc_lab.lessons.grading.handout`"
    )
    for path in written:
        nbformat.validate(nbformat.read(path, as_version=4))


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.name)
def test_a_notebook_shows_the_verdict(exercise, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The stub is told what is wrong; the instructor's copy passes."""
    for text, head in (
        ((ROOT / f"notebooks/exercises/{exercise.name}.ipynb").read_text(), "not yet"),
        (dumps(with_solution(exercise.name)), "passed"),
    ):
        notebook = nbformat.reads(text, as_version=4)
        resources = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(notebook, timeout=120, resources=resources).execute()
        shown = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
        assert shown[-1]["data"]["text/plain"].startswith(head)
        assert f"<b>{head}</b>" in shown[-1]["data"]["text/html"]
