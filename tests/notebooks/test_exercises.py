"""The notebook of every exercise, cell by cell: with its stub, and with the solution."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab.lessons.exercises import Exercise, all_exercises
from byoc_lab.lessons.grading.notebooks import code_of, notebook, with_solution
from byoc_lab.lessons.verdict import NOT_HERE


def verdict_of(cells: list[str]) -> Any:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        exec(cell, namespace)
    return namespace["verdict"]


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.name)
def test_an_exercise_runs_from_its_task_to_its_verdict(exercise: Exercise) -> None:
    here = exercise.missing() is None
    assert verdict_of(code_of(notebook(exercise.name))).head == ("not yet" if here else NOT_HERE)
    if here:
        assert verdict_of(code_of(with_solution(exercise.name))).head == "passed"
