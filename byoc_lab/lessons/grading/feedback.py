"""The feedback for one student: a self-contained HTML page."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from byoc_lab.files import write_text
from byoc_lab.lessons.exercises import get
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.grades import Grade, file_name
from byoc_lab.lessons.grading.notebooks import POINTS
from byoc_lab.lessons.grading.settings import DEFAULTS, Settings

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem }
pre { white-space: pre-wrap; background: #f4f4f4; padding: .5rem }
svg { max-width: 100%; height: auto }
table { border-collapse: collapse } td, th { padding: .2rem .8rem; border: 1px solid #bbb }
"""


def write_feedback(
    folder: Path,
    grades: Mapping[str, Sequence[Grade]],
    course: Course,
    settings: Settings = DEFAULTS,
) -> None:
    """Write one HTML page for each student."""
    folder.mkdir(parents=True, exist_ok=True)
    for student, found in grades.items():
        name = settings.shown(student, course.seed)
        text = page(name, course, found, settings)
        write_text(folder / f"{file_name(name)}.html", text)


def page(
    student: str, course: Course, grades: Sequence[Grade], settings: Settings = DEFAULTS
) -> str:
    """The page: a table of points, then each exercise with its verdict, picture, hints, and the
    code and output of the student. student: the displayed name."""
    name = html.escape(student)
    total = sum(grade.points for grade in grades)
    open_ = sum(not grade.graded for grade in grades)
    most = POINTS * (len(grades) - open_)
    without = f", without {open_} that could not be graded" if open_ else ""
    rows = "".join(
        f'<tr><td><a href="#{g.exercise}">{html.escape(get(g.exercise).title)}</a></td>'
        f"<td>{html.escape(g.status)}</td>"
        f"<td>{f'{g.points:g} of {POINTS}' if g.graded else ''}</td></tr>"
        for g in grades
    )
    parts = "".join(_exercise(g, settings) for g in grades)
    return (
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{name}: '
        f'{html.escape(course.name)}</title><style>{STYLE}</style><main><h1 id="top">{name}</h1>'
        f"<p>{html.escape(course.name)}: {total:g} of {most} points{without}</p>"
        f"<table><tr><th>Exercise</th><th>Result</th><th>Points</th></tr>{rows}</table>{parts}</main>\n"
    )


def _exercise(grade: Grade, settings: Settings) -> str:
    title = html.escape(get(grade.exercise).title)
    links = '<a href="#top">all exercises</a>'
    if settings.link:
        address = html.escape(settings.link.replace("{exercise}", grade.exercise))
        links = f'<a href="{address}">open the notebook</a>, {links}'
    file = f"<p>Graded: {html.escape(grade.file)}</p>" if grade.file else ""
    reasons = "".join(f"<p>{html.escape(reason)}</p>" for reason in grade.reasons)
    return (
        f'<h2 id="{grade.exercise}">{title}</h2><p>{links}</p>{file}{reasons}{_verdict(grade)}'
        f"{_folded('Your code', grade.code)}{_folded('What it printed', grade.printed)}"
    )


def _folded(title: str, text: str) -> str:
    if not text.strip():
        return ""
    return f"<details><summary>{title}</summary><pre>{html.escape(text)}</pre></details>"


def _verdict(grade: Grade) -> str:
    if grade.html:
        return grade.html
    items = "".join(f"<li><pre>{html.escape(message)}</pre></li>" for message in grade.messages)
    return f"<b>{html.escape(grade.status)}</b><ul>{items}</ul>"
