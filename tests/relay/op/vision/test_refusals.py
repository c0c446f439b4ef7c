"""Errors of the operators of detection networks."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import nn, vision

X = relay.var("x", shape=(1, 60, 7, 8))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vision.yolo_reorg(X, 2), "rows of .* multiple of 2"),
        (lambda: vision.yolo_reorg(X, 7), "channels of .* multiple of 49"),
        (lambda: vision.roi_align(X, relay.var("r", shape=(3, 4)), (2, 2), 1.0), r"\(regions, 5\)"),
        (
            lambda: vision.roi_align(X, relay.var("r", shape=(3, 5)), (2, 2), 1.0, mode="x"),
            "one of avg, max, found 'x'",
        ),
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
def test_is_refused(call, message) -> None:
    with pytest.raises(TypeInferenceError, match=message):
        relay.transform.InferType()(relay.IRModule.from_expr(call()))
