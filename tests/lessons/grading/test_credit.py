"""Points by the rules of a course: partial, late, assigned by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from byoc_lab.lessons.grading.credit import with_credit
from byoc_lab.lessons.grading.grades import BY_HAND, NOT_GRADED, Grade
from byoc_lab.lessons.grading.handed_in import Submission
from byoc_lab.lessons.grading.settings import DEFAULTS, EVERY, Late, Override, Partial, Settings

NAME, FILE = "annotate-diamond", "a.ipynb"
DUE = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
PASSED = Grade(NAME, 10, "passed", file=FILE, share=1.0)
WRONG = Grade(NAME, 0, "not yet", file=FILE, share=2 / 3)
LATE = Settings(deadlines={EVERY: DUE}, late=Late(1.0, ((0, 10), (24, 50), (72, 100))))


def credited(grade: Grade, settings: Settings, hours: float = 0.0) -> Grade:
    submission = Submission("ann", times={FILE: DUE.timestamp() + 3600 * hours})
    (found,) = with_credit([grade], submission, settings)
    return found


def test_grade_without_settings_is_unchanged() -> None:
    for grade in (PASSED, WRONG, replace(PASSED, hints=3)):
        assert credited(grade, DEFAULTS, hours=1000) == grade


@pytest.mark.parametrize(
    ("hours", "points", "reason"),
    [
        (-5, 10, ()),
        (0.9, 10, ()),
        (1.005, 9, ("1 h 1 min late: 10% lost",)),
        (2, 9, ("2 h 0 min late: 10% lost",)),
        (26, 5, ("26 h 0 min late: 50% lost",)),
        (80, 0, ("80 h 0 min late: 100% lost",)),
    ],
)
def test_late_answers_lose_points_in_steps(
    hours: float, points: float, reason: tuple[str, ...]
) -> None:
    found = credited(PASSED, LATE, hours)
    assert (found.points, found.reasons, found.status) == (points, reason, "passed")


def test_late_answer_without_points_loses_none() -> None:
    assert credited(WRONG, LATE, 80).reasons == ()


def test_submission_time_given_by_the_teacher_counts() -> None:
    settings = replace(LATE, handed_in={"ann": DUE})
    assert credited(PASSED, settings, hours=80).points == 10


def test_share_of_variants_gives_points_if_the_course_sets_it() -> None:
    settings = Settings(partial=Partial(variants=True))
    found = credited(WRONG, settings)
    assert (found.points, found.reasons) == (6.67, ("right for 67% of the variants",))
    assert found.status == "not yet"
    assert credited(replace(WRONG, share=0.0), settings).points == 0


@pytest.mark.parametrize(("hints", "points"), [(0, 10), (1, 8), (3, 4)])
def test_hints_cost_points_if_the_course_sets_it(hints: int, points: float) -> None:
    settings = Settings(partial=Partial(hint_percent=20))
    assert credited(replace(PASSED, hints=hints), settings).points == points


def test_points_assigned_by_hand_replace_all_others() -> None:
    settings = replace(LATE, override=(Override("ann", NAME, 8, "explained"),))
    for grade in (PASSED, WRONG, Grade(NAME, status=NOT_GRADED)):
        found = credited(grade, settings, hours=80)
        assert (found.points, found.status, found.graded) == (8, BY_HAND, True)
        assert found.reasons == ("8 points given by hand: explained",)
    (of_bob,) = with_credit([PASSED], Submission("bob"), settings)
    assert of_bob == PASSED
