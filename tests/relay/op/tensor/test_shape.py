"""reshape compared with NumPy, also with unknown dimensions."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import Any
from byoc_lab.relay.op.tensor.shape import reshaped

sizes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@given(sizes, st.data())
def test_reshape_to_a_shape_with_one_unknown_equals_numpy(shape: tuple[int, ...], data) -> None:
    """NumPy supports -1, too."""
    target = list(data.draw(st.permutations(shape)))
    if data.draw(st.booleans()):
        target[data.draw(st.integers(0, len(target) - 1))] = -1
    assert reshaped(shape, target) == np.zeros(shape).reshape(target).shape


@given(sizes, st.data())
def test_every_form_of_a_reshape_target_gives_the_meant_shape(shape: tuple[int, ...], data) -> None:
    """A target is drawn piece by piece, together with the shape that it means."""
    asked: list[int] = []
    wanted: list[int] = []
    rest = list(shape)
    while rest:
        piece = data.draw(st.sampled_from(["copy", "all", "merge", "split", "split-by-rest"]))
        if piece == "all":
            asked.append(-2)
            wanted += rest
            rest = []
        elif piece == "merge" and len(rest) > 1:
            asked.append(-3)
            wanted.append(rest.pop(0) * rest.pop(0))
        elif piece.startswith("split"):
            whole = rest.pop(0)
            part = data.draw(st.sampled_from([d for d in range(1, whole + 1) if whole % d == 0]))
            asked += [-4, part, -1 if piece == "split-by-rest" else whole // part]
            wanted += [part, whole // part]
        else:
            asked.append(0)
            wanted.append(rest.pop(0))
    assert reshaped(shape, asked) == tuple(wanted)


@given(sizes, sizes)
def test_reshape_keeps_the_number_of_elements(shape, target) -> None:
    if prod(shape) == prod(target):
        assert reshaped(shape, target) == target
    else:
        with pytest.raises(TypeInferenceError, match="numbers of elements differ"):
            reshaped(shape, target)


@given(sizes, st.lists(st.integers(-5, 5), max_size=4))
def test_any_reshape_target_is_inferred_or_refused(shape, asked) -> None:
    try:
        found = reshaped(shape, asked)
    except TypeInferenceError:
        return
    assert prod(found) == prod(shape)


def test_copied_unknown_dimensions_cancel() -> None:
    q = Any()
    assert reshaped((q, 3, 4), (0, -1)) == (q, 12)
    assert reshaped((q, q, 4), (-3, -1)) == (q, 4)
    for first, second in itertools.product((-1, 2), (3, -1)):
        if (first, second) != (-1, -1):
            split = reshaped((q, 6), (0, -4, first, second))
            assert split == (q, 2, 3)
