"""Broadcasting compared with NumPy, also with unknown dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import Any, TensorType
from byoc_lab.relay.op.framework.relations import broadcast

small = st.lists(st.sampled_from([1, 1, 2, 3]), max_size=4).map(tuple)


@given(small, small)
def test_broadcast_equals_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    lhs, rhs = TensorType(a), TensorType(b)
    try:
        wanted = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(TypeInferenceError, match="do not broadcast"):
            broadcast("add", lhs, rhs)
    else:
        assert broadcast("add", lhs, rhs) == wanted


@given(small, small, st.data())
def test_broadcast_with_unknown_dimensions_never_contradicts_the_known_result(a, b, data) -> None:
    """For every value of `?`, the result is the inferred one, or `?` was inferred."""
    try:
        wanted = np.broadcast_shapes(a, b)
    except ValueError:
        assume(False)
    hidden = tuple(Any() if data.draw(st.booleans()) else d for d in a)
    found = broadcast("add", TensorType(hidden), TensorType(b))
    assert all(isinstance(f, Any) or f == w for f, w in zip(found, wanted, strict=True))
