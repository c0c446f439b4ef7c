"""Points by the rules of a course: partial credit, late answers, and decisions of the teacher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from math import ceil

from byoc_lab.lessons.grading.grades import BY_HAND, Grade
from byoc_lab.lessons.grading.handed_in import Submission
from byoc_lab.lessons.grading.notebooks import POINTS
from byoc_lab.lessons.grading.settings import Settings

DIGITS = 2  # decimal places of points


def with_credit(grades: Sequence[Grade], submission: Submission, settings: Settings) -> list[Grade]:
    """The grades with the points according to the settings; reasons list the changes."""
    return [_with_credit(each, submission, settings) for each in grades]


def _with_credit(grade: Grade, submission: Submission, settings: Settings) -> Grade:
    for each in settings.override:
        if (each.student, each.exercise) == (submission.student, grade.exercise):
            reason = f"{each.points:g} points given by hand: {each.why}"
            return replace(grade, points=each.points, status=BY_HAND, reasons=(reason,))
    points, reasons = grade.points, []
    if settings.partial.variants and 0 < grade.share < 1:
        points = POINTS * grade.share
        reasons.append(f"right for {grade.share:.0%} of the variants")
    if points and grade.hints and settings.partial.hint_percent:
        lost = min(100.0, settings.partial.hint_percent * grade.hints)
        points *= 1 - lost / 100
        reasons.append(f"hint {grade.hints} was asked for: {lost:g}% lost")
    hours = _hours_late(grade, submission, settings)
    if points and hours > settings.late.grace_hours:
        lost = settings.late.percent(hours)
        points *= 1 - lost / 100
        whole, minutes = divmod(ceil(hours * 60), 60)
        reasons.append(f"{whole} h {minutes} min late: {lost:g}% lost")
    return replace(grade, points=round(points, DIGITS), reasons=tuple(reasons))


def _hours_late(grade: Grade, submission: Submission, settings: Settings) -> float:
    """The hours from the deadline of an answer to its submission; at most 0 if it was in time."""
    deadline = settings.deadline(grade.exercise)
    moment = settings.handed_in.get(submission.student)
    if moment is None and grade.file in submission.times:
        moment = datetime.fromtimestamp(submission.times[grade.file], timezone.utc)
    if deadline is None or moment is None:
        return 0.0
    return (moment - deadline).total_seconds() / 3600
