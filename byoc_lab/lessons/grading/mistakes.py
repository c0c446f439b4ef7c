"""Statistics of a class: the results of each exercise and their frequency, as a table and a
figure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from byoc_lab.lab.view.figures.themes import themed
from byoc_lab.lessons.grading.grades import MISSING, UNGRADED, Grade

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PASSED = "passed"


@dataclass(frozen=True)
class Result:
    """A result that several students share in an exercise: "passed", the kind of a mistake, or how
    the run of the notebook ended."""

    exercise: str
    result: str
    students: tuple[str, ...]


def results(grades: Mapping[str, Sequence[Grade]]) -> list[Result]:
    """The results of each exercise: "passed" first, then the mistakes, the most frequent first."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for student, of_student in grades.items():
        for grade in of_student:
            found[grade.exercise][grade.mistake or grade.status].append(student)
    return [
        Result(exercise, result, tuple(students))
        for exercise, of in found.items()
        for result, students in sorted(of.items(), key=lambda each: _order(each[0], each[1]))
    ]


def _order(result: str, students: Sequence[str]) -> tuple[int, int, str]:
    groups = (result != PASSED) + (result in (MISSING, *UNGRADED))
    return groups, -len(students), result


def figure(found: Sequence[Result], theme: str = "light") -> Figure:
    """A figure with a bar for each result; its length is the number of students. theme: "light" or
    "dark"."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    with themed(theme) as colours:
        drawn = Figure(figsize=(12, 1.2 + 0.34 * len(found)), layout="constrained")
        axes = drawn.subplots()
        rows = range(len(found))
        sizes = [len(each.students) for each in found]
        colour = {PASSED: colours.good} | dict.fromkeys((MISSING, *UNGRADED), colours.rest)
        bars = axes.barh(rows, sizes, color=[colour.get(e.result, colours.wrong) for e in found])
        for bar, each in zip(bars, found, strict=True):
            bar.set_hatch("//" if each.result not in colour else "")
        axes.bar_label(bars, padding=4)
        axes.set_yticks(rows, [f"{each.exercise}: {each.result}" for each in found])
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.set_xlabel("students")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return drawn
