"""A statement describes exactly the graded task, for the variant of every seed."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from byoc_lab.lessons import exercise as exercise_of
from byoc_lab.lessons.exercises import Exercise, all_exercises, get
from byoc_lab.lessons.exercises.halve_the_bytes import boundary_bytes
from byoc_lab.lessons.grading.notebooks import code_of, notebook
from byoc_lab.lessons.structure import operators_of
from tests.sweeps import some

STARTS = ("c-kernel", "port-to-relax")
"""Exercises that start a compiler or import apache-tvm: a variant or two are enough."""


def right_answers(exercise: Exercise) -> tuple[Any, ...]:
    return import_module(f"{__package__}.right.{exercise.name.replace('-', '_')}").RIGHT


def convolutions(module: Any) -> int:
    return operators_of(module["main"]).count("nn.conv2d")


FACTS: dict[str, Callable[[Any], list[str]]] = {
    "add-the-missing-begin": lambda mod: [f"{convolutions(mod)} block"],
    "add-the-missing-end": lambda mod: [f"here\n`{operators_of(mod['main'])[-1]}`"],
    "fix-the-name": lambda name: [f'"{name}"'],
    "halve-the-bytes": lambda mod: [
        f"{boundary_bytes(mod):,} bytes", f"{boundary_bytes(mod) // 2:,}."
    ],
    "order-the-passes": lambda names_and_mod: [f"{convolutions(names_and_mod[1])} block"],
    "port-to-relax": lambda mod: [f"{len(re.findall('relax.add|R.add', str(mod)))} block"],
    "remove-the-leftover-multiply": lambda mod: [f"{convolutions(mod)} block"],
}  # fmt: skip
"""What the statement says of a question, by exercise."""


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.name)
def test_statement_and_stub_belong_to_the_variant(exercise: Exercise) -> None:
    differing = exercise.missing() is None and "$" in exercise.statement + exercise.stub
    assert not differing or exercise.name in FACTS
    for seed in range(12 if exercise.name not in STARTS else 2):
        if exercise.missing() is not None:
            pytest.skip(f"it needs {exercise.needs}")
        statement, stub = exercise.statement_of(seed), exercise.stub_of(seed)
        assert "$" not in statement + stub
        for fact in FACTS.get(exercise.name, lambda question: [])(exercise.question(seed)):
            assert fact in statement, (seed, fact)
        data = notebook(exercise.name, seed)
        assert statement.strip() in "".join(data["cells"][0]["source"])
        assert code_of(data)[1] == stub.strip()
        assert statement.strip() in exercise_of(exercise.name, seed)._repr_markdown_()


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.name)
def test_other_right_answers_pass(exercise: Exercise) -> None:
    if exercise.missing() is not None:
        pytest.skip(f"it needs {exercise.needs}")
    answers = right_answers(exercise)
    assert len(answers) >= 3
    for number, answer in enumerate(answers):
        verdict = exercise.check(answer, number % 2)
        assert verdict, (getattr(answer, "__name__", answer), str(verdict))


@pytest.mark.slow
@pytest.mark.parametrize(
    "exercise", [e for e in all_exercises() if e.name not in STARTS], ids=lambda e: e.name
)
def test_right_answers_pass_in_every_variant(exercise: Exercise) -> None:
    for seed in (*range(some(24)), 977, 1_234, 56_789, 999_999):
        for answer in right_answers(exercise):
            verdict = exercise.check(answer, seed, hidden=())
            assert verdict, (seed, getattr(answer, "__name__", answer), str(verdict))


@pytest.mark.parametrize("seed", range(3))
def test_name_in_the_statement_with_a_dot_passes(seed: int) -> None:
    (name,) = re.findall(r'\("(edu_\w+)", pattern\)', get("fix-the-name").statement_of(seed))
    assert exercise_of("fix-the-name", seed).check(name.replace("_", ".", 1))
