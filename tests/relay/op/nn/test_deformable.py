"""Deformable convolution compared with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.relay import nn
from tests.relay.op.onnx_runs import numbers, run, run_onnx
from tests.sweeps import some

few = settings(max_examples=some(15))


seeds = st.integers(0, 10_000)


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@few
@given(seed=seeds, strides=st.integers(1, 2), dilation=st.integers(1, 2), data=st.data())
def test_deformable_convolution_agrees_with_onnxruntime(seed, strides, dilation, data) -> None:
    """Offsets stay inside the image: less than a pixel outside, TVM gives 0 and ONNX a part of
    the nearest pixel."""
    pytest.importorskip("onnxruntime", minversion="1.31", reason="1.23 has no DeformConv on CPUs")
    groups, parts = data.draw(st.sampled_from([1, 2])), data.draw(st.sampled_from([1, 2, 4]))
    x, w = numbers((2, 4, 9, 8), seed), numbers((6, 4 // groups, 3, 2), seed + 1)
    rows, columns = (9 - 2 * dilation - 1) // strides + 1, (8 - dilation - 1) // strides + 1
    offset = numbers((2, 12 * parts, rows, columns), seed + 2)
    place = offset.reshape(2, parts, 3, 2, 2, rows, columns)
    for axis, size in enumerate(x.shape[2:]):
        steps = np.arange((rows, columns)[axis]) * strides
        at = (steps[:, None], steps)[axis]
        kernel = np.arange(3 - axis).reshape((3, 1, 1, 1) if axis == 0 else (2, 1, 1)) * dilation
        start = at + kernel
        moved = place[:, :, :, :, axis] + start
        place[:, :, :, :, axis] = moved.clip(0, size - 1) - start
    attrs = {"strides": strides, "dilation": dilation, "groups": groups}
    found = run(lambda *a: nn.deformable_conv2d(*a, deformable_groups=parts, **attrs), x, offset, w)
    wanted = run_onnx(
        "DeformConv",
        x,
        w,
        offset,
        strides=[strides] * 2,
        dilations=[dilation] * 2,
        group=groups,
        offset_group=parts,
    )
    close(found, wanted)
