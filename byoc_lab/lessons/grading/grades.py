"""The grade of an exercise, and storing grades between runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from byoc_lab.containment.limits import Limits
from byoc_lab.files import write_text
from byoc_lab.lessons.grading.course import MAX_NAME, Course
from byoc_lab.lessons.grading.handed_in import Submission
from byoc_lab.lessons.verdict import NOT_HERE

NOT_GRADED, NOT_JUDGED, MISSING = "not graded", "not judged", "missing"
BY_HAND = "by hand"
UNGRADED = (NOT_HERE, NOT_GRADED, NOT_JUDGED)


@dataclass(frozen=True)
class Grade:
    """The grade of one exercise.

    status: "passed", "not yet", "missing", the end of the run ("timed out", "crashed", ...),
    BY_HAND for points that the teacher gave, or one of UNGRADED: then the points have no meaning.
    messages: messages for the student. notes: notes for the teacher, such as a changed check. file:
    the graded notebook. share: the share of variants for which the answer is right, from 0 to 1.
    hints: the highest hint that the notebook requests. code: the student's code, shortened if it is
    long. printed: the beginning of its output. reasons: why the points differ from those of the
    status. shapes: the shapes of the code and of the modules that it returned, which `alike`
    compares.
    """

    exercise: str
    points: float = 0
    status: str = MISSING
    mistake: str = ""
    messages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    html: str = ""
    file: str = ""
    share: float = 0.0
    hints: int = 0
    code: str = ""
    printed: str = ""
    reasons: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()

    @property
    def graded(self) -> bool:
        """Whether the answer was graded; if not, it is not the student's fault."""
        return self.status not in UNGRADED

    def as_dict(self) -> dict[str, Any]:
        """The grade as plain data, for JSON; without the fields that only the page and `alike`
        need."""
        data = asdict(self)
        for name in ("html", "code", "printed", "shapes"):
            del data[name]
        return {**data, "graded": self.graded}


def not_graded(exercises: Sequence[str], note: str) -> list[Grade]:
    """The grades of exercises that could not be graded."""
    return [Grade(name, status=NOT_GRADED, notes=(note,)) for name in exercises]


def kept(
    folder: Path | None, submission: Submission, course: Course, limits: Limits
) -> dict[str, Grade]:
    """The grades stored by an earlier run, by exercise, if the notebooks are unchanged."""
    if folder is None:
        return {}
    try:
        data = json.loads(_kept_file(folder, submission).read_text(encoding="utf-8"))
        if data["digest"] != submission.digest(course, limits):
            return {}
        return {each["exercise"]: _read_grade(each) for each in data["grades"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # nothing is stored, or the file was cut off: grade again


def _read_grade(data: Mapping[str, Any]) -> Grade:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    return Grade(**fields)


def keep(
    folder: Path | None,
    submission: Submission,
    course: Course,
    limits: Limits,
    grades: Sequence[Grade],
) -> None:
    """Store the grades of those exercises of a submission that were graded."""
    known = [asdict(each) for each in grades if each.graded]
    if folder is None or not known:
        return
    folder.mkdir(parents=True, exist_ok=True)
    digest = submission.digest(course, limits)
    data = {"student": submission.student, "digest": digest, "grades": known}
    write_text(_kept_file(folder, submission), json.dumps(data))


def _kept_file(folder: Path, submission: Submission) -> Path:
    return folder / f"{file_name(submission.student)}.json"


def file_name(student: str) -> str:
    """The name of a student's file without its suffix. A name that is too long is cut, and a part
    of its hash is added to keep it unique."""
    name = student.encode()
    if len(name) <= MAX_NAME and "/" not in student:
        return student
    start = name[: MAX_NAME - 20].decode(errors="ignore").replace("/", "_")
    return f"{start}-{hashlib.sha256(name).hexdigest()[:16]}"
