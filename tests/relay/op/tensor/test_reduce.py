"""Functions composed of reductions against NumPy."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from tests.relay.op.onnx_runs import numbers, run


def test_logsumexp_does_not_overflow() -> None:
    data = numbers((3, 4), 0) * 500
    found = run(lambda a: relay.logsumexp(a, 1), data)
    np.testing.assert_allclose(found, np.logaddexp.reduce(data, axis=1), rtol=1e-5)
    assert run(lambda a: relay.logsumexp(a, (0, 1), True), data).shape == (1, 1)
