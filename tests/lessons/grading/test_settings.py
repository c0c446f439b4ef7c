"""`course.toml`: valid settings are read, invalid ones are refused with a message."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

from byoc_lab.lessons.grading.settings import (
    DEFAULTS,
    SETTINGS,
    TEMPLATE,
    Late,
    Override,
    Settings,
    SettingsError,
    read_settings,
)

NAMES = ("annotate-diamond", "fix-the-name")


def read(folder: Path, text: str) -> Settings:
    (folder / SETTINGS).write_text(text, encoding="utf-8")
    return read_settings(folder, NAMES)


def test_missing_file_or_key_gives_the_defaults(tmp_path: Path) -> None:
    assert read_settings(tmp_path, NAMES) == DEFAULTS == read(tmp_path, TEMPLATE)


def test_template_without_comment_signs_sets_every_key(tmp_path: Path) -> None:
    text = re.sub(r"^# (?=[\[\w\"]+.*[=\]])", "", TEMPLATE, flags=re.M)
    found = read(tmp_path, text)
    for name in Settings.__dataclass_fields__:
        assert getattr(found, name) != getattr(DEFAULTS, name), name
    assert found.override == (Override("ann", NAMES[0], 8, "right idea, explained in the lab"),)
    assert found.deadline(NAMES[1]) == datetime(2026, 11, 30, 22, 59, tzinfo=timezone.utc)


def test_exercise_may_have_a_separate_deadline(tmp_path: Path) -> None:
    early, late = "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"
    found = read(tmp_path, f"[deadlines]\nevery = {early}\n{NAMES[0]} = {late}\n")
    assert [found.deadline(name).month for name in NAMES] == [12, 11]  # type: ignore[union-attr]
    assert DEFAULTS.deadline(NAMES[0]) is None


def test_late_penalty_grows_in_steps_after_the_grace_period() -> None:
    late = Late(0.5, ((0, 10), (24, 50), (72, 100)))
    hours = [-3, 0, 0.5, 0.6, 24.5, 24.6, 72.6]
    assert [late.percent(each) for each in hours] == [0, 0, 0, 10, 10, 50, 100]


def test_linear_penalty_grows_between_its_pairs_and_stays_constant_after_them() -> None:
    late = Late(0.5, ((0, 0), (10, 20), (50, 100)), linear=True)
    hours = np.linspace(-1, 60, 200)
    expected = np.interp(hours - 0.5, [0, 10, 50], [0, 20, 100])
    np.testing.assert_allclose([late.percent(each) for each in hours], expected)
    jump = Late(0, ((0, 10), (10, 30)), linear=True)
    assert [jump.percent(each) for each in (0, 5, 10, 99)] == [0, 20, 30, 30]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a =", "cannot be read as TOML"),
        ("anonymus = true", "there is no key anonymus; known: anonymous, tables, link"),
        ("late = {grace = 1}", "there is no key late.grace; known: late.grace_hours, late.lost"),
        ("anonymous = 1", "anonymous must be true or false, found 1"),
        ('tables = ["blackboard"]', "a list of names among moodle, canvas, mistakes, similar"),
        ('link = "hub"', "begins with https://"),
        ("late = 3", "late must be a table, found 3"),
        ("late = {grace_hours = -1}", "late.grace_hours must be a number from 0, found -1"),
        ("late = {grace_hours = true}", "late.grace_hours must be a number, found True"),
        ("late = {lost = [1]}", "a list of pairs"),
        ("late = {lost = [[24, 10], [0, 5]]}", "in ascending order"),
        ("late = {lost = [[0, 50], [24, 10]]}", "in ascending order"),
        ("late = {lost = [[0, 101]]}", "a number from 0 to 100, found 101"),
        ("deadlines = {every = 2026-11-30}", "a time with its offset from UTC"),
        ("deadlines = {every = 2026-11-30T10:00:00}", "a time with its offset from UTC"),
        ("deadlines = {fix = 2026-11-30T10:00:00Z}", "an exercise of the course (annotate-diamond"),
        ("ids = {ann = 42}", 'ids.ann must be a text in quotes, such as "0042", found 42'),
        ("partial = {hint_percent = 200}", "partial.hint_percent must be a number from 0 to 100"),
        ("override = 3", "override must be tables that begin with [[override]]"),
        ("override = [3]", "override 1 must be a table"),
        ('override = [{student = "ann"}]', "override 1 lacks exercise, points, why"),
        (
            'override = [{student = "ann", exercise = "no", points = 1, why = "x"}]',
            "override 1.exercise must be an exercise of the course",
        ),
        (
            'override = [{student = "ann", exercise = "fix-the-name", points = 11, why = "x"}]',
            "override 1.points must be a number from 0 to 10, found 11",
        ),
        (
            'override = [{student = "a", exercise = "fix-the-name", points = 1, why = "x"}, '
            '{student = "a", exercise = "fix-the-name", points = 2, why = "y"}]',
            "override has a and fix-the-name twice",
        ),
    ],
)
def test_invalid_setting_is_refused_with_its_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(told)) as error:
        read(tmp_path, text)
    assert str(tmp_path / SETTINGS) in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "handed_in = {bob = 2026-11-30T10:00:00Z}",
        'override = [{student = "bob", exercise = "fix-the-name", points = 1, why = "x"}]',
    ],
)
def test_settings_of_an_unknown_student_are_refused(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text)
    found.check_students(["ann", "bob"])
    with pytest.raises(SettingsError, match="names 'bob', who is not a student of the class"):
        found.check_students(["ann"])


def test_codes_of_students_depend_on_the_seed_of_the_class() -> None:
    anonymous = Settings(anonymous=True)
    codes = {anonymous.shown(name, seed) for name in ("ann", "bob") for seed in (1, 2)}
    assert len(codes) == 4 and not any("ann" in code for code in codes)
    assert DEFAULTS.shown("ann", 1) == "ann"
