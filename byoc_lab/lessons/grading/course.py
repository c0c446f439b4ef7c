"""A course: the chosen exercises, the seeds of students, and the folder that holds them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from byoc_lab.errors import ArgumentError, ByocLabError
from byoc_lab.files import write_text
from byoc_lab.lessons.exercises import all_exercises, get
from byoc_lab.lessons.grading import notebooks

MANIFEST = "course.json"
STUDENTS, INSTRUCTOR, NBGRADER = "students", "instructor", "nbgrader"
EVERYBODY = "everybody"


class CourseError(ByocLabError, ValueError):
    """A folder is no course, or its file is damaged."""


@dataclass(frozen=True)
class Course:
    """What a class is set and graded by.

    seed: the class's; everything else follows from it. exercises: by name, in the order of the
    columns of grades. students: those with a variant of their own; others get that of the class.
    hidden: how many variants that nobody sees an answer is tried on. from_notebooks: the seeds are
    those in the notebooks, since there is no course.
    """

    name: str
    seed: int
    exercises: tuple[str, ...]
    students: tuple[str, ...] = field(default_factory=tuple)
    hidden: int = 2
    from_notebooks: bool = False

    def seed_of(self, student: str, exercise: str) -> int:
        """The seed of a student's variant: small, since it is in the notebook."""
        who = student if student in self.students else ""
        return _number(self.seed, who, exercise) % 1000

    def hidden_seeds(self, exercise: str) -> tuple[int, ...]:
        """The seeds of the hidden variants, the same for the class."""
        return tuple(
            1000 + _number(self.seed, "hidden", exercise, str(n)) % 1_000_000
            for n in range(self.hidden)
        )


def _number(seed: int, *words: str) -> int:
    text = "\n".join((str(seed), *words))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def new_course(
    folder: Path,
    exercises: Sequence[str] = (),
    students: Sequence[str] = (),
    seed: int = 1,
    name: str = "",
) -> Course:
    """Write a course into a new folder: `course.json`, the notebooks of students (one folder each,
    or `everybody`), instructor's copies with solutions, and a source folder for nbgrader.

    Raises ArgumentError for a folder that holds something, UnknownNameError for an exercise,
    SolutionsError where the solutions are not installed.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ArgumentError(f"{folder} is not empty; name a folder that does not exist yet")
    chosen = tuple(get(n).name for n in exercises) or tuple(e.name for e in all_exercises())
    for student in students:
        if not student or student in (".", "..") or "/" in student or "\\" in student:
            raise ArgumentError(f"the name of a student must be a folder's name, found {student!r}")
    course = Course(name or folder.name, seed, chosen, tuple(students))
    source = folder / NBGRADER / "source" / course.name
    for exercise in chosen:
        file, seed_of_class = f"{exercise}.ipynb", course.seed_of("", exercise)
        # Those with solutions first: where these are missing, nothing is written.
        for place, made in (
            (folder / INSTRUCTOR, notebooks.with_solution(exercise, seed_of_class)),
            (source, notebooks.with_solution(exercise, seed_of_class, nbgrader=True)),
        ):
            _write(place / file, notebooks.dumps(made))
        for student in students or (EVERYBODY,):
            made = notebooks.notebook(exercise, course.seed_of(student, exercise))
            _write(folder / STUDENTS / student / file, notebooks.dumps(made))
    _write(folder / NBGRADER / "nbgrader_config.py", _CONFIG.format(name=course.name))
    _write(folder / MANIFEST, json.dumps(asdict(course), indent=1) + "\n")
    return course


def read_course(folder: Path) -> Course:
    """The course of a folder. Raises CourseError."""
    try:
        data = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return Course(
            str(data["name"]),
            int(data["seed"]),
            tuple(get(name).name for name in data["exercises"]),
            tuple(map(str, data["students"])),
            int(data["hidden"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CourseError(
            f"{folder} is no course: {MANIFEST} cannot be read ({error}); "
            f"`byoc-lab course new FOLDER` makes one"
        ) from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


_CONFIG = """\
# nbgrader's configuration of this course; run nbgrader in this folder.
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "{name}"
c.ClearSolutions.code_stub = {{"python": ""}}
"""
