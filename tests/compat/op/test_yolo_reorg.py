"""vision.yolo_reorg compared with Darknet's definition."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab.compat  # noqa: F401 (defines operators)
from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import vision
from tests.relay.op.onnx_runs import run

X = relay.var("x", shape=(1, 60, 7, 8))


def test_reorg_equals_darknet() -> None:
    x = np.arange(1 * 4 * 2 * 2, dtype="float32").reshape(1, 4, 2, 2)
    found = run(lambda a: vision.yolo_reorg(a, 2), x)
    large = x.reshape(4, 4)  # the same data as one channel, twice as high and wide
    corners = [large[i::2, j::2] for i in range(2) for j in range(2)]
    assert np.array_equal(found.reshape(4, 2, 2), corners)


@pytest.mark.parametrize(
    ("stride", "message"), [(2, "rows of .* multiple of 2"), (7, "channels of .* multiple of 49")]
)
def test_invalid_reorg_is_refused(stride: int, message: str) -> None:
    with pytest.raises(TypeInferenceError, match=message):
        relay.transform.InferType()(relay.IRModule.from_expr(vision.yolo_reorg(X, stride)))
