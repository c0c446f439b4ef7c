"""The notebooks of exercises in the repository equal those generated from the exercises."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from byoc_lab.lessons.exercises import Exercise, all_exercises
from byoc_lab.lessons.grading.handout import write_notebooks
from byoc_lab.lessons.grading.notebooks import code_of, dumps, with_solution
from byoc_lab.lessons.solutions import source
from byoc_lab.lessons.verdict import NOT_HERE

ROOT = Path(__file__).parents[3]


def test_generated_notebooks_are_up_to_date(tmp_path: Path) -> None:
    written = write_notebooks(tmp_path)
    kept = {p.name: p.read_text(encoding="utf-8") for p in (ROOT / "notebooks/exercises").iterdir()}
    assert kept == {p.name: p.read_text(encoding="utf-8") for p in written}, (
        "run `python -m byoc_lab.lessons.grading.handout`"
    )
    for path in written:
        nbformat.validate(nbformat.read(path, as_version=4))


def _definitions(code: str) -> set[str]:
    """The top-level statements that define `answer`, normalized."""
    found = set()
    for node in ast.parse(code).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        if any(getattr(t, "id", getattr(t, "name", "")) == "answer" for t in targets):
            found.add(ast.unparse(node))
    return found


def test_notebooks_for_students_have_no_solutions() -> None:
    def definitions(text: str) -> set[str]:
        return {d for cell in code_of(json.loads(text)) for d in _definitions(cell)}

    here = [e.name for e in all_exercises() if e.missing() is None]  # a solution is imported
    solutions = {name: _definitions(source(name)) for name in here}
    assert all(definitions(dumps(with_solution(n))) == found for n, found in solutions.items())
    given = [p.read_text(encoding="utf-8") for p in (ROOT / "notebooks").rglob("*.ipynb")]
    assert len(given) > len(solutions)
    students = set().union(*map(definitions, given))
    assert students and not students & set().union(*solutions.values())


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.name)
def test_notebook_shows_the_result_of_its_check(exercise: Exercise) -> None:
    """The stub gets its mistake, the instructor's copy passes, and neither is judged if a
    requirement is missing.

    The student's walk runs them in a kernel and a browser.
    """
    given = (ROOT / f"notebooks/exercises/{exercise.name}.ipynb").read_text(encoding="utf-8")
    here = exercise.missing() is None
    wanted = [(given, "not yet" if here else NOT_HERE)]
    if here:
        wanted.append((dumps(with_solution(exercise.name)), "passed"))
    for text, head in wanted:
        names: dict[str, Any] = {}
        for number, cell in enumerate(code_of(json.loads(text))):
            exec(compile(cell, f"<cell {number} of {exercise.name}>", "exec"), names)
        shown = names["verdict"]._repr_mimebundle_()
        assert shown["text/plain"].startswith(head)
        assert f"<b>{head}</b>" in shown["text/html"]
