"""A course: the chosen exercises, the seeds of students, and the course folder."""

from __future__ import annotations

import hashlib
import json
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from byoc_lab.errors import ArgumentError, ByocLabError
from byoc_lab.files import write_text
from byoc_lab.lessons.exercises import all_exercises, get
from byoc_lab.lessons.grading import notebooks
from byoc_lab.lessons.grading.settings import SETTINGS, TEMPLATE

MANIFEST = "course.json"
STUDENTS, INSTRUCTOR, NBGRADER = "students", "instructor", "nbgrader"
EVERYBODY = "everybody"
OF_TEACHER = (MANIFEST, SETTINGS, INSTRUCTOR, NBGRADER)
"""Files in a course folder that a graded notebook must not read."""
SEEDS = 1000  # largest seed of students; hidden variants have larger seeds
SEED_BITS = 64  # for the random seed of a class: too many to try all
MAX_NAME = 200  # maximum of bytes in a student's name


class CourseError(ByocLabError, ValueError):
    """A folder is not a course, or its file is damaged."""


@dataclass(frozen=True)
class Course:
    """The exercises, seeds and students of a class.

    seed: the seed of the class, from which all other seeds are derived. exercises: their names, in
    the order of the grade columns. students: the students with individual variants; all others get
    the variant of the class. hidden: the number of hidden variants on which an answer is also run.
    from_notebooks: whether the seeds are taken from the notebooks, because there is no course.
    """

    name: str
    seed: int
    exercises: tuple[str, ...]
    students: tuple[str, ...] = field(default_factory=tuple)
    hidden: int = 2
    from_notebooks: bool = False

    def seed_of(self, student: str, exercise: str) -> int:
        """The seed of a student's variant: small, because it is written in the notebook."""
        who = student if student in self.students else ""
        return _number(self.seed, who, exercise) % SEEDS

    def student_called(self, name: str) -> str:
        """The student whose name differs at most in upper and lower case, else the given name."""
        return next((each for each in self.students if _folded(each) == _folded(name)), name)

    def hidden_seeds(self, exercise: str) -> tuple[int, ...]:
        """The seeds of the hidden variants, equal for the whole class."""
        return tuple(
            SEEDS + _number(self.seed, "hidden", exercise, str(n)) % 1_000_000
            for n in range(self.hidden)
        )


def _folded(name: str) -> str:
    """A key that is equal for names that a file system or a spreadsheet may not distinguish."""
    return unicodedata.normalize("NFC", name.casefold())


def _number(seed: int, *words: str) -> int:
    text = "\n".join((str(seed), *words))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def new_course(
    folder: Path,
    exercises: Sequence[str] = (),
    students: Sequence[str] = (),
    seed: int | None = None,
    name: str = "",
) -> Course:
    """Write a course into a new folder: `course.json`, `course.toml` with settings to fill in, the
    notebooks of students (one folder each, or `everybody`), instructor's copies with solutions, and
    a source folder for nbgrader.

    seed: the seed of the class; random by default, because a known seed reveals the hidden
    variants.

    A folder with the `course.json` of the same course is completed; its files stay. Raises
    ArgumentError for any other folder that is not empty, and for students' names that cannot be
    folder names or cannot be distinguished; UnknownNameError for an unknown exercise;
    SolutionsError if the solutions are not installed.
    """
    chosen = tuple(get(n).name for n in exercises) or tuple(e.name for e in all_exercises())
    _check_names(students)
    found = read_course(folder) if (folder / MANIFEST).is_file() else None
    if found is None and folder.exists() and any(folder.iterdir()):
        raise ArgumentError(f"{folder} is not empty; name a folder that does not exist yet")
    if seed is None:
        seed = found.seed if found is not None else secrets.randbits(SEED_BITS)
    course = Course(name or folder.name, seed, chosen, tuple(students))
    if found is not None and found != course:
        names = [f.name for f in fields(course)]
        other = [each for each in names if getattr(found, each) != getattr(course, each)]
        raise ArgumentError(
            f"{folder} has a course with different {', '.join(other)}; name a folder that does not "
            f"exist yet, or give the options that it was made with to complete it"
        )
    for exercise in chosen:  # computed first: if solutions are missing, nothing is written
        notebooks.with_solution(exercise, course.seed_of("", exercise))
    _write(folder / MANIFEST, json.dumps(asdict(course), indent=1) + "\n")
    if not (folder / SETTINGS).exists():
        _write(folder / SETTINGS, TEMPLATE)
    source = folder / NBGRADER / "source" / course.name
    for exercise in chosen:
        file, seed_of_class = f"{exercise}.ipynb", course.seed_of("", exercise)
        made = [
            (folder / INSTRUCTOR, notebooks.with_solution(exercise, seed_of_class)),
            (source, notebooks.with_solution(exercise, seed_of_class, nbgrader=True)),
        ]
        for student in students or (EVERYBODY,):
            of_student = notebooks.notebook(exercise, course.seed_of(student, exercise))
            made.append((folder / STUDENTS / student, of_student))
        for place, data in made:
            if not (place / file).exists():
                _write(place / file, notebooks.dumps(data))
    _write(folder / NBGRADER / "nbgrader_config.py", _CONFIG.format(name=course.name))
    return course


def _check_names(students: Sequence[str]) -> None:
    """Raise ArgumentError for names that cannot be folder names, or cannot be distinguished."""
    seen: dict[str, str] = {}
    for student in students:
        if (
            not student.isprintable()
            or not student.strip()
            or student.startswith(".")
            or set("/\\") & set(student)
            or len(student.encode()) > MAX_NAME
        ):
            raise ArgumentError(
                f"the name of a student must be a folder's name of at most {MAX_NAME} bytes that "
                f"does not begin with a dot, found {student!r}"
            )
        folded = _folded(student)
        if folded in seen:
            raise ArgumentError(
                f"the students {seen[folded]!r} and {student!r} have names that look the same, "
                f"but for the case of letters at most; their folders may be one: rename one of "
                f"them, or remove it"
            )
        seen[folded] = student


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
            f"{folder} is not a course: {MANIFEST} cannot be read ({error}); "
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
