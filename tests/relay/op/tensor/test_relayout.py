"""Layout changes compared with ONNX Runtime, and their inverses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.relay import nn
from tests.relay.op.onnx_runs import close, numbers, run, run_onnx
from tests.sweeps import some

few = settings(max_examples=some(12))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_agrees_with_onnxruntime(mode) -> None:
    x = numbers((1, 8, 2, 3), 0)
    wanted = run_onnx("DepthToSpace", x, blocksize=2, mode=mode)
    close(run(lambda a: nn.depth_to_space(a, 2, mode=mode), x), wanted)
    deep = run(lambda a: nn.space_to_depth(a, 2), wanted)
    close(deep, run_onnx("SpaceToDepth", wanted, blocksize=2))


@given(st.sampled_from(["NCHW", "NHWC", "NCHW2c", "NHWC4c", "CHWN8c"]), st.data())
@few
def test_layout_transform_there_and_back_restores_the_data(other, data) -> None:
    x = numbers((2, 8, 3, 4), data.draw(st.integers(0, 9)))
    there = run(lambda a: relay.layout_transform(a, "NCHW", other), x)
    np.testing.assert_array_equal(run(lambda a: relay.layout_transform(a, other, "NCHW"), there), x)
    through = run(lambda a: relay.layout_transform(a, other, "NCHW4c"), there)
    blocks = x.reshape(2, 2, 4, 3, 4).transpose(0, 1, 3, 4, 2)
    np.testing.assert_array_equal(through, blocks)


@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 5))
@few
def test_layout_transform_fills_the_last_block_with_zeros(channels, one, other) -> None:
    """The same result as for data that already contains the zeros, also for further conversions."""
    x = numbers((2, channels, 3), 0)
    first = run(lambda a: relay.layout_transform(a, "NCW", f"NCW{one}c"), x)
    second = run(lambda a: relay.layout_transform(a, f"NCW{one}c", f"NCW{other}c"), first)
    found = run(lambda a: relay.layout_transform(a, f"NCW{other}c", "NCW"), second)
    more = -(-(-(-channels // one) * one) // other) * other - channels
    np.testing.assert_array_equal(found, np.pad(x, [(0, 0), (0, more), (0, 0)]))
