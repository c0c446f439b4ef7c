"""Judging the results of a sandbox: share of variants, code structure, and copies of the pass."""

from __future__ import annotations

import inspect
import json
import textwrap
from typing import Any

import pytest

from byoc_lab.containment.limits import Limits
from byoc_lab.lessons.exercises import get
from byoc_lab.lessons.grading.alike import CODE, MODULE
from byoc_lab.lessons.grading.grades import Grade
from byoc_lab.lessons.grading.judging import graded
from byoc_lab.lessons.grading.replies import encode
from byoc_lab.lessons.solutions import solution, source
from byoc_lab.passes.byoc.merge_composite import MergeComposite

NAME, SEEDS = "add-the-missing-begin", [0, 1001, 1002]


def grade(name: str, answers: list[Any], cells: list[str]) -> Grade:
    """The grade of one answer for each of the variants of SEEDS."""
    exercise = get(name)
    values = [
        {"value": encode(exercise.respond(answer, exercise.question(seed)))}
        for seed, answer in zip(SEEDS, answers, strict=True)
    ]
    result = {"status": "ran", "reply": json.dumps({"replies": values})}
    return graded(name, SEEDS, result, (), Limits(), cells)


def test_share_counts_all_variants_and_the_first_mistake_is_reported() -> None:
    right, wrong = solution(NAME).answer, lambda mod: mod
    whole, two, none = (
        grade(NAME, answers, [source(NAME)])
        for answers in ([right] * 3, [right, wrong, right], [wrong] * 3)
    )
    assert [(g.share, g.points) for g in (whole, none)] == [(1, 10), (0, 0)]
    assert round(two.share, 2) == 0.67 and (two.status, two.points) == ("not yet", 0)
    assert two.mistake == none.mistake == "BYL001"
    assert "but not for another one" in two.messages[0]


def test_grade_has_the_structure_of_code_and_modules() -> None:
    right = solution(NAME).answer
    found = grade(NAME, [right] * 3, [source(NAME)])
    assert {each.split()[0] for each in found.shapes} == {CODE, MODULE}
    assert found.shapes == grade(NAME, [right] * 3, [source(NAME)]).shapes
    of_stub = grade(NAME, [lambda mod: mod] * 3, ["x = 1"])
    assert not {*found.shapes} & {each for each in of_stub.shapes if each.startswith(CODE)}


def test_copy_of_the_pass_gets_its_points_and_a_note() -> None:
    name = "write-merge-composite"
    text = textwrap.dedent(inspect.getsource(MergeComposite.run_function))
    found = grade(name, [solution(name).answer] * 3, [text])
    assert found.points == 10
    assert "MergeComposite.run_function is in its code" in found.notes[0]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("crashed", "a signal ended your notebook"),
        ("ended Python", "your notebook ended Python, as os._exit does"),
        ("too much memory", "your notebook took more memory than 2048 MiB"),
        ("timed out", "your notebook was stopped: timed out; it may use 30 seconds"),
    ],
)
def test_message_to_the_student_states_how_the_run_ended(status: str, told: str) -> None:
    found = graded(NAME, SEEDS, {"status": status, "reply": ""}, (), Limits())
    assert (found.status, found.points) == (status, 0) and found.messages[0].startswith(told)
