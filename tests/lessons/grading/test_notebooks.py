"""The code and the hints that are read from a student's notebook."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading import notebooks
from byoc_lab.lessons.solutions import source
from tests.lessons.grading.generated import with_code

NAME = "annotate-diamond"


def test_student_s_code_excludes_task_and_check() -> None:
    data = with_code(NAME, "answer = 1")
    data["cells"].append({"cell_type": "code", "metadata": {}, "source": "print(2)"})
    data["cells"].append({"cell_type": "markdown", "metadata": {}, "source": "a thought"})
    assert notebooks.answer_of(data) == "answer = 1\n\nprint(2)"


@pytest.mark.parametrize(
    ("line", "notes"),
    [
        ("verdict.hint(2)", []),
        ("print(verdict.hint())\nverdict.hint(step=3)", []),
        ("verdict = True", ["the cell 'check' was changed"]),
    ],
)
def test_check_that_asks_for_hints_is_not_a_changed_cell(line: str, notes: list[str]) -> None:
    data = with_code(NAME, "answer = 1")
    data["cells"][3]["source"].append(f"\n{line}")
    assert notebooks.changed_cells(data, NAME) == notes


def test_long_code_is_truncated() -> None:
    text = notebooks.answer_of(with_code(NAME, "x = 1\n" * 100_000))
    assert len(text) < notebooks.MAX_ANSWER + 20 and text.endswith("# ... cut off")


@pytest.mark.parametrize(
    ("line", "hints"),
    [
        ("verdict.hint()", 1),
        ("print(verdict.hint(2)); verdict.hint( 1 )", 2),
        ("task.check(answer).hint(step=3)", 3),
        ("# verdict.hint(3)", 0),
        ("hint(2)", 0),
        ("verdict.hint(4)", 0),
    ],
)
def test_highest_hint_is_counted(line: str, hints: int) -> None:
    assert notebooks.hints_of(with_code(NAME, f"answer = 1\n{line}")) == hints


CHEATS = """
import byoc_lab.lessons
from byoc_lab.lessons.exercises.base import Exercise

byoc_lab.lessons.check = Exercise.check = Exercise.verdict = lambda *given, **more: True
"""
RUN = """
import json, sys

found = {}
for name, cells in json.load(sys.stdin).items():
    given = {}
    try:
        for cell in cells:
            exec(cell, given)
        found[name] = "passed"
    except AssertionError as error:
        found[name] = str(error).splitlines()[0]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_nbgrader_check_is_unaffected_by_what_the_notebook_replaces() -> None:
    answers = {e.name: source(e.name) for e in all_exercises() if e.missing() is None}
    tasks = {}
    for name, text in (*answers.items(), ("wrong", "answer = None")):
        of = NAME if name == "wrong" else name
        data = notebooks.notebook(of, 3, CHEATS + text, nbgrader=True)
        assert notebooks.changed_cells(data, of) == []
        tasks[name] = notebooks.code_of(data)
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps(tasks), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == dict.fromkeys(answers, "passed") | {"wrong": "not yet"}
