"""The search for equal values in another run finds all of them, and compares few values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from byoc_lab.lab.checking import pairing
from byoc_lab.lab.checking.bounds.error import Error
from byoc_lab.lab.checking.bounds.uncertain import Quantity

ODD = (np.nan, np.inf, -np.inf, 0.0, 1e300, -1e300)


def run_of(quantities: list[Quantity]) -> Any:
    return SimpleNamespace(steps=[SimpleNamespace(args=(), results=quantities)])


def drawn(rng: np.random.Generator, count: int) -> list[Quantity]:
    """Many similar values, and some with nan or infinite values or tolerances."""
    found = []
    for _ in range(count):
        value = rng.choice([1.0, 1.0, 2.0, 1e6]) + rng.choice([0, 1e-9, 1e-3]) * rng.random(3)
        if rng.random() < 0.3:
            value[rng.integers(3)] = rng.choice(ODD)
        sigma = rng.choice([0.0, 1e-9, 1e-3, np.inf], p=[0.3, 0.3, 0.3, 0.1])
        found.append(Quantity(value, Error(float(sigma))))
    return found


@pytest.mark.parametrize("tolerances", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_every_value_within_the_tolerance_is_a_candidate(seed: int, tolerances: bool) -> None:
    """tolerances: use the tolerance of each searched value instead of that of the given value."""
    rng = np.random.default_rng(seed)
    there, given = drawn(rng, 250), drawn(rng, 25)
    there += [Quantity(q.value.copy(), q.error) for q in given]
    index = pairing._Index(run_of(there), tolerances)
    position = {id(q): n for n, q in enumerate(there)}
    same = 0
    for quantity in given:
        pairs = [(other, quantity) if tolerances else (quantity, other) for other in there]
        expected = [o for o, pair in zip(there, pairs, strict=True) if pairing.same_values(*pair)]
        found = list(index.candidates(quantity))
        order = [position[id(q)] for q in found]
        assert order == sorted(order)
        assert {id(q) for q in expected} <= {id(q) for q in found}
        same += len(expected)
    assert same > 2 * len(given)


def test_only_similar_values_are_compared() -> None:
    there = [Quantity(np.full(8, float(n)), Error(1e-3)) for n in range(5_000)]
    index = pairing._Index(run_of(there), True)
    (group,) = index.groups.values()
    assert [q is there[70] for q in index.candidates(Quantity(np.full(8, 70.0)))] == [True]
    assert len(group._rows(np.full(8, 70.0), None)) == 1


def test_value_of_another_shape_has_no_candidate() -> None:
    index = pairing._Index(run_of([Quantity(np.zeros(3))]), True)
    assert list(index.candidates(Quantity(np.zeros(4)))) == []
