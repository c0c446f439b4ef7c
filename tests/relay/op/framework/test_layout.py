"""Permutations of axes agree with numpy.transpose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.op.framework.layout import (
    inverse,
    inverse_permute,
    is_identity,
    is_permutation,
    permutation,
    permute,
    positions,
)

AXES = st.integers(0, 5).flatmap(lambda rank: st.permutations(range(rank))).map(tuple)


@given(AXES)
def test_shape_is_permuted_as_numpy_permutes_a_tensor(axes: tuple[int, ...]) -> None:
    tensor = np.zeros(range(2, 2 + len(axes)))
    permuted = permute(tensor.shape, axes)
    assert permuted == tensor.transpose(axes).shape
    assert inverse_permute(permuted, axes) == tensor.shape
    assert permute(permuted, inverse(axes)) == tensor.shape
    assert is_identity(permute(axes, inverse(axes)))
    assert is_identity(axes) == (permuted == tensor.shape)


def test_permutation_converts_one_layout_into_another() -> None:
    assert permutation("NHWC", "NCHW") == (0, 3, 1, 2)
    assert "".join(permute("NHWC", permutation("NHWC", "NCHW"))) == "NCHW"
    assert is_permutation("NHWC", "NCHW") and not is_permutation("NCHW16c", "NCHW")
    assert positions("op", "layout", "NHWC", "NCHW") == (0, 3, 1, 2)
    with pytest.raises(TypeInferenceError, match="layout must be a permutation of NCHW, found"):
        positions("op", "layout", "NCHW16c", "NCHW")
