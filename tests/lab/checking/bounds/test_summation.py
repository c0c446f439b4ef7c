"""Sums of elements: equal elements are rounded alike, so a correct sum may have a large error."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.compat.op.definitions.collapse_sum import collapse_sum_to
from byoc_lab.lab.checking.bounds.summation import largest_repetition, roundings
from byoc_lab.relay import nn
from tests.lab.checking.bounds.test_products import share, typed
from tests.sweeps import some

SIDES = st.sampled_from([7, 28, 56, 112])
SHARES = st.sampled_from([0.0, 0.1, 0.5, 0.75, 1.0])


def partly_equal(side: int, equal: float, seed: int) -> np.ndarray:
    """In each of 16 channels, a share of the elements is one positive number."""
    random = np.random.default_rng(seed)
    x = np.abs(random.standard_normal((1, 16, side, side)))
    constants = np.broadcast_to(random.uniform(0.1, 2, (1, 16, 1, 1)), x.shape)
    return np.where(random.random(x.shape) < equal, constants, x).astype(np.float32)


def summed_in_turn(x: np.ndarray) -> np.ndarray:
    """The sum of each channel in float32, adding one element at a time."""
    return np.add.accumulate(x.reshape(1, 16, -1), axis=2, dtype=np.float32)[..., -1]


@given(SIDES, SHARES, st.integers(0, 999))
@settings(max_examples=some(30))
def test_sequential_sums_of_equal_elements_are_within_the_tolerance(
    side: int, equal: float, seed: int
) -> None:
    values = partly_equal(side, equal, seed)
    x = relay.var("x", shape=values.shape)
    sums = summed_in_turn(values)
    means = (sums / np.float32(side * side)).reshape(1, 16, 1, 1)
    assert share(typed(relay.sum(x, axis=(2, 3))), [values], sums) < 1
    assert share(typed(relay.mean(x, axis=(2, 3), keepdims=True)), [values], means) < 1
    assert share(typed(nn.global_avg_pool2d(x)), [values], means) < 1


def test_roundings_of_different_elements_are_independent() -> None:
    values = partly_equal(112, 0.0, 1)
    independent = sqrt(112 * 112) + 1
    assert roundings(values, (2, 3)) == pytest.approx(independent, rel=0.01)


@given(st.lists(st.sampled_from([-1.5, 0.0, 2.0, 3.25, np.inf]), min_size=1, max_size=30))
def test_largest_repetition_equals_a_count(elements: list[float]) -> None:
    counted = [elements.count(x) for x in elements if x]
    found = largest_repetition(np.array([elements]), (1,))
    assert found.tolist() == [[max(counted, default=0)]]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_sum_of_no_elements_has_no_repetition(shape: tuple[int, int]) -> None:
    assert largest_repetition(np.zeros(shape), (1,)).tolist() == [[0.0]] * shape[0]


@pytest.mark.parametrize("shape", [(), (1, 28), (28,), (28, 1)])
def test_sequential_sum_that_undoes_a_broadcast_is_within_the_tolerance(
    shape: tuple[int, ...],
) -> None:
    values = np.abs(np.random.default_rng(0).standard_normal((28, 28))).astype(np.float32)
    padded = (1,) * (2 - len(shape)) + shape
    axes = tuple(n for n in range(2) if padded[n] == 1)
    rows = np.moveaxis(values, axes, range(len(axes))).reshape(28 ** len(axes), -1)
    in_turn = np.add.accumulate(rows, axis=0, dtype=np.float32)[-1].reshape(shape)
    mod = typed(collapse_sum_to(relay.var("x", shape=(28, 28)), shape))
    assert share(mod, [values], in_turn) <= 1
