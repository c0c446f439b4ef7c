"""nn.correlation: its errors. (The comparison of all operators covers its results.)"""

from __future__ import annotations

import pytest

import byoc_lab.compat  # noqa: F401 (defines operators)
from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import nn

X = relay.var("x", shape=(1, 60, 7, 8))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: nn.correlation(
                X, relay.var("y", shape=(1, 60, 8, 8)), 1, 1, 1, 1, 1, True, "NCHW"
            ),
            "data2 must have the shape of data1",
        ),
        (lambda: nn.correlation(X, X, 2, 1, 1, 1, 1, True, "NCHW"), "must be odd, found 2"),
        (
            lambda: nn.correlation(X, X, 1, 9, 1, 1, 1, True, "NCHW"),
            "borders of 9 leave no element of",
        ),
    ],
)
def test_invalid_correlation_is_refused(call, message) -> None:
    with pytest.raises(TypeInferenceError, match=message):
        relay.transform.InferType()(relay.IRModule.from_expr(call()))
