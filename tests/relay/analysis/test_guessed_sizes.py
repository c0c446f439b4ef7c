"""Guesses for the unknown dimensions of an input."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab.relay import Any as Unknown
from byoc_lab.relay.analysis.guessed_sizes import guessed_sizes


@pytest.mark.parametrize(
    ("lengths", "guess"),
    [
        ((2, 3), (2, 3)),
        ((None, "sequence", 32), (1, 16, 32)),
        ((Unknown(), Unknown(), Unknown(), Unknown()), (1, 3, 224, 224)),
        (("batch", None, None, 3), (1, 224, 224, 3)),
        ((), ()),
    ],
)
def test_known_dimensions_stay_in_a_guess(lengths: tuple[Any, ...], guess: tuple[int, ...]) -> None:
    assert guessed_sizes(lengths) == guess
