"""Statistics of a class: the table and the figure contain every result."""

from __future__ import annotations

import csv
from pathlib import Path

from byoc_lab.lessons.exercises import all_exercises, get
from byoc_lab.lessons.grading.alike import CODE, code_shapes, kept
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.grades import BY_HAND, MISSING, UNGRADED, Grade
from byoc_lab.lessons.grading.mistakes import PASSED, Result, figure, results
from byoc_lab.lessons.grading.settings import Settings
from byoc_lab.lessons.grading.tables import write_beside
from tests.lessons.grading.test_alike import COPY, ORIGINAL, independent

A, B = "add-the-missing-begin", "annotate-diamond"
WRONG = Grade(B, 0, "not yet", "no-region")
GRADES = {
    "ann": [Grade(A, 10, "passed"), WRONG],
    "bob": [Grade(A), WRONG],
    "cid": [Grade(A, 10, "passed"), Grade(B, 0, "not yet", "too-many")],
    "dan": [Grade(A, 10, "passed"), Grade(B, 10, "passed")],
}


def test_results_are_ordered_passed_mistakes_missing() -> None:
    assert results(GRADES) == [
        Result(A, "passed", ("ann", "cid", "dan")),
        Result(A, "missing", ("bob",)),
        Result(B, "passed", ("dan",)),
        Result(B, "no-region", ("ann", "bob")),
        Result(B, "too-many", ("cid",)),
    ]


def test_no_kind_of_mistake_has_the_name_of_a_status() -> None:
    taken = {PASSED, MISSING, BY_HAND, *UNGRADED}
    assert not [(e.name, *both) for e in all_exercises() if (both := taken & {*e.mistakes})]


def test_figure_has_a_bar_for_each_result() -> None:
    (axes,) = figure(results(GRADES)).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [f"{each.exercise}: {each.result}" for each in results(GRADES)]
    assert [bar.get_width() for bar in axes.patches] == [3, 1, 1, 2, 1]
    assert figure([]).axes


def test_tables_of_mistakes_and_of_similar_answers_are_written(tmp_path: Path) -> None:
    texts = {f"s{n}": independent(n) for n in range(20)} | {"ann": ORIGINAL, "bob": COPY}
    grades = {
        student: [Grade(B, 10, "passed", shapes=kept(CODE, code_shapes([text])))]
        for student, text in texts.items()
    }
    settings = Settings(tables=("mistakes", "similar"))
    assert write_beside(tmp_path / "grades.csv", grades, Course("c", 1, (B,)), settings) == []

    def rows(kind: str) -> list[list[str]]:
        return list(csv.reader((tmp_path / f"grades.{kind}.csv").open(encoding="utf-8")))

    grades["zoe"] = [WRONG]
    assert write_beside(tmp_path / "grades.csv", grades, Course("c", 1, (B,)), settings) == []
    _, passed, wrong = rows("mistakes")
    assert passed[:4] == [B, "passed", "22", ""]
    assert wrong == [B, "no-region", "1", get(B).hint_of("no-region"), "zoe"] and wrong[3]
    assert rows("similar")[1:] == [[B, CODE, "ann", "bob", "1.00", rows("similar")[1][-1]]]
    assert (tmp_path / "grades.mistakes.svg").read_text(encoding="utf-8").count(B)
