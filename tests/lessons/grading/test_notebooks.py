"""What is read from a student's notebook beside its answer: the code, and the hints."""

from __future__ import annotations

import pytest

from byoc_lab.lessons.grading import notebooks
from tests.lessons.grading.generated import with_code

NAME = "annotate-diamond"


def test_the_code_of_a_student_is_without_task_and_check() -> None:
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
def test_a_check_that_asks_for_hints_is_not_a_changed_one(line: str, notes: list[str]) -> None:
    data = with_code(NAME, "answer = 1")
    data["cells"][3]["source"].append(f"\n{line}")
    assert notebooks.changed_cells(data, NAME) == notes


def test_long_code_is_cut() -> None:
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
def test_the_highest_hint_is_counted(line: str, hints: int) -> None:
    assert notebooks.hints_of(with_code(NAME, f"answer = 1\n{line}")) == hints
