"""A worker or a sandbox that dies costs no student a point."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from byoc_lab import cli
from byoc_lab.containment.limits import Limits
from byoc_lab.lessons.grading import sandboxed
from byoc_lab.lessons.grading import submissions as grading
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.grades import NOT_GRADED
from byoc_lab.lessons.grading.handed_in import Submission
from tests.lessons.grading.generated import right, write

NAME = "annotate-diamond"
COURSE = Course("c", 1, (NAME,), from_notebooks=True)


class Losing(Executor):
    """An executor that loses a student's submission several times, and grades others at once."""

    def __init__(self, times: int):
        self.times, self.asked = times, Counter[str]()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        submission: Submission = args[0]
        self.asked[submission.student] += 1
        future: Future[Any] = Future()
        if submission.student == "bob" and self.asked["bob"] <= self.times:
            future.set_exception(BrokenExecutor("a process ended abruptly"))
        else:
            future.set_result([grading.Grade(NAME, 10, "passed")])
        return future


def submissions() -> list[Submission]:
    return [Submission(student, {f"{NAME}.ipynb": "{}"}) for student in ("ann", "bob")]


def test_lost_submission_is_graded_again() -> None:
    pool = Losing(times=2)
    grades = grading.grade(submissions(), COURSE, executor=pool)
    assert {student: g.points for student, (g,) in grades.items()} == {"ann": 10, "bob": 10}
    assert pool.asked == {"ann": 1, "bob": 3}


def test_job_lost_every_time_gets_an_empty_cell_and_a_note(tmp_path: Path) -> None:
    table = tmp_path / "grades.csv"
    grades = grading.grade(
        submissions(), COURSE, executor=Losing(times=9), table=table, keep=tmp_path / "kept"
    )
    (lost,) = grades["bob"]
    assert (lost.status, lost.graded) == (NOT_GRADED, False)
    rows = list(csv.reader(table.open(encoding="utf-8")))
    assert rows[1] == ["ann", "10", "10", ""]
    assert rows[2][:3] == ["bob", "", ""] and "a process ended abruptly" in rows[2][3]
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["ann.json"]


def test_table_is_written_during_grading(tmp_path: Path) -> None:
    table = tmp_path / "grades.csv"
    seen = []

    def progress(done: int, of: int, student: str) -> None:
        rows = list(csv.reader(table.open(encoding="utf-8")))
        seen.append((done, of, sum(row[1] != "" for row in rows[1:]), len(rows) - 1))

    grading.grade(submissions(), COURSE, executor=Losing(0), table=table, progress=progress)
    assert seen == [(1, 2, 1, 2), (2, 2, 2, 2)]


def test_sandbox_that_ends_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = {"status": "ran", "printed": "", "reply": "{}", "isolated": True}
    asked: list[int] = []

    def served(request: dict[str, Any], *rest: object) -> Any:
        asked.append(len(request["notebooks"]))
        if len(asked) == 1:
            yield ran
        elif len(asked) == 3:
            yield from [ran] * len(request["notebooks"])

    monkeypatch.setattr(sandboxed, "_served", served)
    found = list(sandboxed.run_sandboxed([{}] * 4, Limits(), [], None))
    assert [each["status"] for each in found] == ["ran", sandboxed.LOST, "ran", "ran"]
    assert asked == [4, 3, 2]


def test_grade_command_with_a_lost_submission_exits_with_inconclusive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "in" / "ann", NAME, right(NAME))
    (tmp_path / "in" / "bob.rar").write_bytes(b"Rar!")

    def graded(submission: Submission, *rest: Any) -> list[grading.Grade]:
        status = "passed" if submission.files else NOT_GRADED
        return [grading.Grade(NAME, 10 if submission.files else 0, status)]

    monkeypatch.setattr(grading, "grade_one", graded)
    monkeypatch.setattr(grading, "pool", lambda *given: nullcontext(Losing(0)))
    arguments = ["grade", str(tmp_path / "in"), "-o", str(tmp_path / "grades.csv")]
    assert cli.main(arguments) == cli.INCONCLUSIVE
    assert "1 answers could not be graded" in capsys.readouterr().err
