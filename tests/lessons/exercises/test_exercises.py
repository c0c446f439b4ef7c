"""Every exercise: its solution passes, what it starts from does not."""

from __future__ import annotations

import re

import pytest

from byoc_lab.errors import UnknownNameError
from byoc_lab.lessons.exercises import Exercise, Verdict, all_exercises, get
from byoc_lab.relay import IRModule

exercises = pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.name)


def test_exercises_are_found_by_name() -> None:
    assert get("add-the-missing-begin") in all_exercises()
    with pytest.raises(UnknownNameError, match="did you mean 'add-the-missing-begin'"):
        get("add-missing-begin")


@exercises
def test_an_exercise_states_its_task(exercise: Exercise) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", exercise.name)
    assert exercise.title and exercise.statement and type(exercise).__doc__
    assert exercise.title in exercise._repr_markdown_()


@exercises
def test_its_solution_passes_and_its_start_does_not(exercise: Exercise) -> None:
    verdict = exercise.check(exercise.solution())
    assert verdict.passed, str(verdict)
    assert not exercise.check(exercise.start()).passed


@exercises
@pytest.mark.parametrize("answer", [None, 3, "text", IRModule()], ids=repr)
def test_no_answer_raises(exercise: Exercise, answer: object) -> None:
    verdict = exercise.check(answer)
    assert not verdict.passed and verdict.messages


def test_a_verdict_shows_its_messages() -> None:
    verdict = Verdict(False, ("a < b",))
    assert str(verdict) == "not yet\n- a < b"
    assert "a &lt; b" in verdict._repr_html_()
    assert Verdict(True) and str(Verdict(True)) == "passed"
