"""Replies: what an answer gave survives JSON, and hostile JSON raises one error."""

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
from byoc_lab.lessons.grading.replies import decode, encode

LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)


@given(st.recursive(LEAVES, lambda each: st.lists(each, max_size=3), max_leaves=8))
def test_data_survives(value: Any) -> None:
    assert decode(json.loads(json.dumps(encode(value)))) == value


def test_arrays_and_modules_survive() -> None:
    array = np.arange(6, dtype="float32").reshape(2, 3)
    back = decode(json.loads(json.dumps(encode(array))))
    assert back.dtype == array.dtype and np.array_equal(back, array)
    mod = exercise("annotate-diamond").start()
    assert structural_equal(decode(json.loads(json.dumps(encode(mod))))["main"], mod["main"])


def test_other_values_keep_the_name_of_their_type() -> None:
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
def test_hostile_data_raises_one_error(data: Any) -> None:
    with pytest.raises(ByocLabError):
        decode(data)
