"""`byoc-lab grade`: writes a table of results and a feedback page for each student."""

from __future__ import annotations

import csv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from byoc_lab.cli import main
from byoc_lab.lessons.grading import submissions as grading
from byoc_lab.lessons.grading.grades import Grade
from byoc_lab.lessons.grading.handed_in import Submission
from tests.lessons.grading.generated import right, write, wrong
from tests.lessons.grading.ways import BEST

pytestmark = pytest.mark.linux
NAME = "annotate-diamond"


def test_grade_command_grades_submissions_of_a_course(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course, folder = tmp_path / "course", tmp_path / "in"
    assert main(["course", "new", str(course), "--exercises", NAME, "--seed", "1"]) == 0
    write(folder / "ann", NAME, right(NAME))
    write(folder / "=1+1", NAME, wrong(NAME, "no-region"))
    table, pages = tmp_path / "grades.csv", tmp_path / "pages"
    command = ["grade", str(folder), "-o", str(table), "--feedback", str(pages), "--workers", "1"]
    if BEST is None:
        command.append("--trust")
    assert main([*command, "--course", str(course)]) == 0
    told = capsys.readouterr()
    assert "2 submissions, 1 answers passed" in told.out and "2/2 " in told.err
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    assert [(row["student"], row["total"]) for row in rows] == [("'=1+1", "0"), ("ann", "10")]
    page = (pages / "ann.html").read_text(encoding="utf-8")
    assert "Annotate a diamond convexly" in page and "def answer(mod)" in page
    rmtree(folder / "=1+1")
    assert main(command) == 0  # without the course: grades the submitted exercises


def test_course_settings_are_applied_without_grading_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    course, folder = tmp_path / "course", tmp_path / "in"
    assert main(["course", "new", str(course), "--exercises", NAME, "--seed", "1"]) == 0
    for student in ("ann", "bob"):
        write(folder / student, NAME, right(NAME))
    graded = []

    def grade_one(submission: Submission, exercises: list[str], *rest: Any) -> list[Grade]:
        graded.append((submission.student, exercises))
        return [Grade(NAME, 10, "passed", file=f"{NAME}.ipynb")]

    monkeypatch.setattr(grading, "grade_one", grade_one)
    monkeypatch.setattr(grading, "pool", lambda *a, **k: ThreadPoolExecutor(1))
    table = tmp_path / "grades.csv"

    def totals(*options: str) -> list[str]:
        assert (
            main(["grade", str(folder), "--course", str(course), "-o", str(table), *options]) == 0
        )
        return [row["total"] for row in csv.DictReader(table.open(encoding="utf-8"))]

    assert totals() == ["10", "10"] and graded == [("ann", [NAME]), ("bob", [NAME])]
    (course / "course.toml").write_text(
        'tables = ["moodle"]\nids = {ann = "1", bob = "2"}\n'
        f'[[override]]\nstudent = "bob"\nexercise = "{NAME}"\npoints = 7\nwhy = "late"\n'
    )
    for _ in range(2):
        assert totals() == ["10", "7"] and len(graded) == 2
    assert (tmp_path / "grades.moodle.csv").is_file()
    assert totals("--regrade", "bob") == ["10", "7"] and graded[2:] == [("bob", [NAME])]
    assert totals("--regrade", NAME) == ["10", "7"] and len(graded) == 5
    assert totals("--again") == ["10", "7"] and len(graded) == 7
    capsys.readouterr()
    assert main(["grade", str(folder), "--course", str(course), "--regrade", "zoe"]) == 2
    assert "'zoe' is neither a student of the class" in capsys.readouterr().err
    (course / "course.toml").write_text("late = 1")
    assert main(["grade", str(folder), "--course", str(course)]) == 2
    assert "late must be a table, found 1" in capsys.readouterr().err


@pytest.mark.parametrize("named", [True, False])
def test_teacher_files_are_hidden_from_submissions_if_the_course_is_named_or_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    course = tmp_path / "course"
    assert main(["course", "new", str(course), "--exercises", NAME]) == 0
    asked: dict[str, Any] = {}
    monkeypatch.setattr(grading, "grade", lambda *args, **options: asked.update(options) or {})
    command = ["grade", str(course / "students"), "-o", str(tmp_path / "grades.csv")]
    assert main([*command, *(["--course", str(course)] if named else [])]) == 0
    hidden = {str(path.resolve().relative_to(course)) for path in asked["hidden"]}
    parts = {"course.json", "course.toml", "instructor", "nbgrader"}
    assert hidden == {"students", *(["."] if named else parts)}


def test_grade_command_with_invalid_arguments_exits_with_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grade", str(tmp_path / "none")]) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert main(["grade", str(tmp_path), "--course", str(tmp_path)]) == 2
    assert "`byoc-lab course new FOLDER` makes one" in capsys.readouterr().err
    assert main(["grade", str(tmp_path), "--workers", "0"]) == 2
    assert "--workers must be above 0" in capsys.readouterr().err
