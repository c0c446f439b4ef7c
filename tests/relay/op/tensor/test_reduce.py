"""Functions composed of reductions compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.relay.ir.ndarray import numpy_dtype
from tests.relay.op.onnx_runs import numbers, run


def test_logsumexp_does_not_overflow() -> None:
    data = numbers((3, 4), 0) * 500
    found = run(lambda a: relay.logsumexp(a, 1), data)
    np.testing.assert_allclose(found, np.logaddexp.reduce(data, axis=1), rtol=1e-5)
    assert run(lambda a: relay.logsumexp(a, (0, 1), True), data).shape == (1, 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16", "int8", "uint8", "int64"])
def test_extreme_of_no_elements_is_the_identity_of_the_reduction(dtype: str) -> None:
    data = np.zeros((2, 0), numpy_dtype(dtype))
    least, most = run(lambda a: relay.max(a, 1), data), run(lambda a: relay.min(a, 1), data)
    assert least.dtype == most.dtype == data.dtype
    if "float" in dtype:
        assert (least.astype("float32") == -np.inf).all()
        assert (most.astype("float32") == np.inf).all()
    else:
        assert (least == np.iinfo(dtype).min).all()
        assert (most == np.iinfo(dtype).max).all()
