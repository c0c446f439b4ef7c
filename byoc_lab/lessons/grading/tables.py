"""The tables of a class: points, the formats of learning platforms, and the names behind codes."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from byoc_lab.files import replacing
from byoc_lab.lessons.exercises import get
from byoc_lab.lessons.grading import alike, mistakes
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.grades import MISSING, Grade
from byoc_lab.lessons.grading.notebooks import POINTS
from byoc_lab.lessons.grading.settings import DEFAULTS, SETTINGS, Settings

Grades = Mapping[str, Sequence[Grade]]


def write_grades(path: Path, grades: Grades, course: Course, settings: Settings = DEFAULTS) -> None:
    """Write the table of points as CSV: a row for each student, a column for each exercise.

    The cell of an exercise that was not graded is empty, and so is the total of its row. An
    anonymous course has no IDs, because they would identify students.
    """
    ids = ["id"] if settings.ids and not settings.anonymous else []
    rows: list[list[object]] = [["student", *ids, *course.exercises, "total", "notes"]]
    for name, student in shown_names(grades, course, settings):
        number = [settings.ids.get(student, "")] if ids else []
        found = grades[student]
        rows.append([name, *number, *map(points, found), total(found), notes(found)])
    write_rows(path, rows)


def shown_names(grades: Grades, course: Course, settings: Settings) -> list[tuple[str, str]]:
    """Pairs of a displayed name and the student, sorted by the displayed name."""
    names = [(settings.shown(student, course.seed), student) for student in grades]
    return sorted(names) if settings.anonymous else names


def notes(found: Sequence[Grade]) -> str:
    """Notes for the teacher on the grades of one student, in one line."""
    missing = sum(g.status == MISSING and not g.notes for g in found)
    same: dict[str, list[str]] = {}  # a note on the whole submission is written once
    for g in found:
        if g.notes or g.reasons or g.status not in ("passed", "not yet", MISSING):
            same.setdefault(", ".join((g.status, *g.reasons, *g.notes)), []).append(g.exercise)
    told = [f"{', '.join(names)}: {text}" for text, names in same.items()]
    if missing:
        told.append("nothing handed in" if missing == len(found) else f"{missing} not handed in")
    return " ".join("; ".join(told).split())


def points(grade: Grade) -> str:
    """The points as text; empty if the answer was not graded."""
    return f"{grade.points:g}" if grade.graded else ""


def total(found: Sequence[Grade]) -> str:
    """The points of all exercises; empty if one was not graded."""
    return f"{sum(g.points for g in found):g}" if all(g.graded for g in found) else ""


def write_beside(path: Path, grades: Grades, course: Course, settings: Settings) -> list[str]:
    """Write the other tables that the settings request, next to the table of points, with names
    such as `grades.moodle.csv` for `grades.csv`. Returns lines about missing data."""
    told = []
    for kind in settings.tables:
        beside = path.with_suffix(f".{kind}{path.suffix}")
        if kind == "mistakes":
            write_mistakes(beside, grades, course, settings)
        elif kind == "similar":
            write_similar(beside, grades, course, settings)
        elif without := write_platform(kind, beside, grades, course, settings):
            names = ", ".join(without)
            told.append(
                f"{beside}: {SETTINGS} has no id of {names}; complete or remove these rows before "
                f"you import the file"
            )
    if settings.anonymous:
        write_names(path.with_suffix(f".names{path.suffix}"), grades, course, settings)
    return told


def write_platform(
    kind: str, path: Path, grades: Grades, course: Course, settings: Settings
) -> list[str]:
    """Write the points as Moodle or Canvas (`kind`) imports them; returns the students without an
    id in the settings; their rows are at the end, with a note next to the name.

    Moodle maps the column "ID number" to users and any others to grades. Canvas finds users by "SIS
    User ID", creates an assignment for each new column, and reads the maximum points from the
    second row. Cells of exercises that were not graded are empty, which changes no grade there.
    """
    titles = [get(name).title for name in course.exercises]
    if kind == "moodle":
        rows: list[list[object]] = [["ID number", "Full name", *titles, "Total"]]
    else:
        rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles]]
        rows.append(["    Points Possible", "", "", "", "", *[POINTS] * len(titles)])
    without = [student for student in grades if student not in settings.ids]
    for student in (*(each for each in grades if each in settings.ids), *without):
        found, number = grades[student], settings.ids.get(student, "")
        name = student if number else f"{student} (no id in {SETTINGS})"
        if kind == "moodle":
            rows.append([number, name, *map(points, found), total(found)])
        else:
            rows.append([name, "", number, "", "", *map(points, found)])
    write_rows(path, rows)
    return without


def write_mistakes(path: Path, grades: Grades, course: Course, settings: Settings) -> None:
    """Write a table of the results of each exercise, with their frequency, the hint and the
    students; and a figure (`.svg`) next to it."""
    found = mistakes.results(grades)
    rows: list[Sequence[object]] = [("exercise", "result", "answers", "hint", "students")]
    for each in found:
        names = sorted(settings.shown(student, course.seed) for student in each.students)
        hint = get(each.exercise).hint_of(each.result)
        rows.append((each.exercise, each.result, len(names), hint, ", ".join(names)))
    write_rows(path, rows)
    with replacing(path.with_suffix(".svg")) as new:
        mistakes.figure(found).savefig(new, format="svg")


def write_similar(path: Path, grades: Grades, course: Course, settings: Settings) -> None:
    """Write the pairs of similar answers, which share many rare shapes."""
    shapes: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in course.exercises}
    for student, found in grades.items():
        for grade in found:
            shapes[grade.exercise][settings.shown(student, course.seed)] = grade.shapes
    rows: list[Sequence[object]] = [("exercise", "alike in", "student", "other", "share", "common")]
    for pair in alike.pairs(shapes):
        names = sorted((pair.student, pair.other))
        rows.append((pair.exercise, pair.kind, *names, f"{pair.share:.2f}", pair.common))
    write_rows(path, rows)


def write_names(path: Path, grades: Grades, course: Course, settings: Settings) -> None:
    """Write the student behind each code of an anonymous course."""
    write_rows(path, [("code", "student"), *shown_names(grades, course, settings)])


def write_rows(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file whose cells no spreadsheet evaluates as formulas. Raises OSError."""
    with (
        replacing(path) as new,
        open(new, "w", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        csv.writer(file).writerows([_safe(str(cell)) for cell in row] for row in rows)


def _safe(text: str) -> str:
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text
