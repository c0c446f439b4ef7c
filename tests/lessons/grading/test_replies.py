"""Replies: an answer's results survive JSON, and hostile JSON raises one error."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab import structural_equal
from byoc_lab.errors import ByocLabError
from byoc_lab.lessons import exercise
from byoc_lab.lessons.exercises import all_exercises, get
from byoc_lab.lessons.grading.judging import judged
from byoc_lab.lessons.grading.replies import decode, encode
from byoc_lab.lessons.solutions import solution
from tests.lessons.exercises.test_exercises import SLOW

LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)


@given(st.recursive(LEAVES, lambda each: st.lists(each, max_size=3), max_leaves=8))
def test_plain_data_survives_json(value: Any) -> None:
    assert decode(json.loads(json.dumps(encode(value)))) == value


def test_arrays_and_modules_survive_json() -> None:
    array = np.arange(6, dtype="float32").reshape(2, 3)
    back = decode(json.loads(json.dumps(encode(array))))
    assert back.dtype == array.dtype and np.array_equal(back, array)
    mod = exercise("annotate-diamond").start()
    assert structural_equal(decode(json.loads(json.dumps(encode(mod))))["main"], mod["main"])


def test_encoded_unsupported_value_keeps_the_name_of_its_type() -> None:
    assert type(decode(encode(object()))).__name__ == "object"
    assert type(decode(encode({1: 2}))).__name__ == "dict"


@pytest.mark.parametrize(
    "data",
    [
        {}, [], {"array": "?", "dtype": "float32", "shape": [1]}, {"list": 3}, {"relay": "{}"},
        {"array": "AAAA", "dtype": "O", "shape": []}, {"float": "x"}, {"relay": 3},
    ],
    ids=str,
)  # fmt: skip
def test_hostile_json_raises_byoc_lab_error(data: Any) -> None:
    with pytest.raises(ByocLabError):
        decode(data)


def _graded(name: str, answer: Any, seeds: list[int]) -> dict[str, Any]:
    """The result of a check through JSON, as in a graded run."""
    exercise = get(name)
    found = []
    for seed in seeds if exercise.varies(answer) else seeds[:1]:
        try:
            if exercise.only_functions and not exercise.is_function(answer):
                found.append({"kind": type(answer).__name__})
            else:
                found.append({"value": encode(exercise.respond(answer, exercise.question(seed)))})
        except Exception as error:
            found.append({"raised": f"{type(error).__name__}: {error}"})
    return judged(name, seeds, json.loads(json.dumps(found)))


@pytest.mark.slow
@pytest.mark.parametrize("name", [e.name for e in all_exercises() if e.name not in SLOW])
def test_graded_run_has_the_result_of_the_notebook(name: str) -> None:
    assert _graded(name, solution(name).answer, [5, 1001])["passed"]
    for key, answer in solution(name).WRONG.items():
        assert _graded(name, answer, [5, 1001])["mistake"] == key
