"""Grades: of one exercise, kept between runs, and as a table and pages for a class."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from byoc_lab.files import replacing, write_text
from byoc_lab.lessons.grading import feedback
from byoc_lab.lessons.grading.course import MAX_NAME, Course
from byoc_lab.lessons.grading.handed_in import Submission
from byoc_lab.lessons.grading.limits import Limits
from byoc_lab.lessons.verdict import NOT_HERE

NOT_GRADED, NOT_JUDGED, MISSING = "not graded", "not judged", "missing"
UNGRADED = (NOT_HERE, NOT_GRADED, NOT_JUDGED)


@dataclass(frozen=True)
class Grade:
    """The grade of one exercise.

    status: "passed", "not yet", "missing", what ended the run ("timed out", "crashed", ...), or one
    of UNGRADED: then there are no points to speak of.
    messages: for the student. notes: for the teacher, such as a changed check. file: the notebook
    that was graded.
    """

    exercise: str
    points: int = 0
    status: str = MISSING
    mistake: str = ""
    messages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    html: str = ""
    file: str = ""

    @property
    def graded(self) -> bool:
        """Whether the answer got what it deserves; if not, the fault is not the student's."""
        return self.status not in UNGRADED

    def as_dict(self) -> dict[str, Any]:
        """The grade as plain data, for JSON; without the page of the verdict."""
        data = asdict(self)
        del data["html"]
        return {**data, "graded": self.graded}


def not_graded(course: Course, note: str) -> list[Grade]:
    """The grades of a submission that could not be graded."""
    return [Grade(name, status=NOT_GRADED, notes=(note,)) for name in course.exercises]


def kept(
    folder: Path | None, submission: Submission, course: Course, limits: Limits
) -> list[Grade] | None:
    """The grades that an earlier run has kept, if they are of the same notebooks."""
    if folder is None:
        return None
    try:
        data = json.loads(_kept_file(folder, submission).read_text(encoding="utf-8"))
        if data["digest"] != submission.digest(course, limits):
            return None
        return [
            Grade(**{**g, "messages": tuple(g["messages"]), "notes": tuple(g["notes"])})
            for g in data["grades"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none is kept, or it was cut off: it is graded again


def keep(
    folder: Path | None,
    submission: Submission,
    course: Course,
    limits: Limits,
    grades: Sequence[Grade],
) -> None:
    """Keep the grades of a submission, if all its exercises were graded."""
    if folder is None or not all(grade.graded for grade in grades):
        return
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        "student": submission.student,
        "digest": submission.digest(course, limits),
        "grades": [asdict(each) for each in grades],
    }
    write_text(_kept_file(folder, submission), json.dumps(data))


def _kept_file(folder: Path, submission: Submission) -> Path:
    return folder / f"{_file_name(submission.student)}.json"


def write_grades(path: Path, grades: Mapping[str, Sequence[Grade]], course: Course) -> None:
    """Write the table of points as CSV: a row for each student, a column for each exercise.

    The cell of an exercise that was not graded is empty, and so is the total of its row.
    """
    with (
        replacing(path) as new,
        open(new, "w", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        table = csv.writer(file)
        table.writerow(["student", *course.exercises, "total", "notes"])
        for student, found in grades.items():
            notes = "; ".join(
                f"{g.exercise}: {', '.join((g.status, *g.notes))}"
                for g in found
                if g.notes or g.status not in ("passed", "not yet")
            )
            points = [g.points if g.graded else "" for g in found]
            total = sum(g.points for g in found) if all(g.graded for g in found) else ""
            table.writerow([_safe(student), *points, total, _safe(" ".join(notes.split()))])


def _safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text


def write_feedback(folder: Path, grades: Mapping[str, Sequence[Grade]], course: Course) -> None:
    """Write one HTML page for each student."""
    folder.mkdir(parents=True, exist_ok=True)
    for student, found in grades.items():
        page = feedback.page(student, course, found)
        write_text(folder / f"{_file_name(student)}.html", page)


def _file_name(student: str) -> str:
    """The name of a student's file without its ending: a name that is too long is cut, and a part
    of its hash tells it from others."""
    name = student.encode()
    if len(name) <= MAX_NAME and "/" not in student:
        return student
    start = name[: MAX_NAME - 20].decode(errors="ignore").replace("/", "_")
    return f"{start}-{hashlib.sha256(name).hexdigest()[:16]}"
