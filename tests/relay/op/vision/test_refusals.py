"""Type errors of operators for detection networks."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import vision

X = relay.var("x", shape=(1, 60, 7, 8))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vision.roi_align(X, relay.var("r", shape=(3, 4)), (2, 2), 1.0), r"\(regions, 5\)"),
        (
            lambda: vision.roi_align(X, relay.var("r", shape=(3, 5)), (2, 2), 1.0, mode="x"),
            "one of avg, max, found 'x'",
        ),
    ],
)
def test_invalid_call_is_refused(call, message) -> None:
    with pytest.raises(TypeInferenceError, match=message):
        relay.transform.InferType()(relay.IRModule.from_expr(call()))
