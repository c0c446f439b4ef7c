"""Quantized convolution and dense compared with ONNX Runtime."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.relay.qnn import op as qnn
from tests.relay.op.onnx_runs import f32, i32, integers, run, run_onnx
from tests.sweeps import some

few = settings(max_examples=some(30))


zeros = st.integers(-20, 20)


@few
@given(zeros, zeros, st.sampled_from(["NCHW", "NHWC"]), st.sampled_from([1, 2]))
def test_convolution_agrees_with_onnxruntime(zero, kernel_zero, layout, groups) -> None:
    x, w = integers(1, 4, 5, 6), integers(6, 4 // groups, 3, 3, seed=1)
    wanted = run_onnx(
        "ConvInteger",
        (x.astype(np.int32) + 128).astype(np.uint8),  # ONNX Runtime requires unsigned data
        (w.astype(np.int32) + 128).astype(np.uint8),
        np.array(zero + 128, np.uint8),
        np.array(kernel_zero + 128, np.uint8),
        pads=[1, 1, 1, 1],
        group=groups,
    )
    last = layout == "NHWC"
    found = run(
        lambda a, b: qnn.conv2d(
            a,
            b,
            i32(zero),
            i32(kernel_zero),
            f32(0.5),
            f32(0.25),
            (3, 3),
            6,
            padding=1,
            groups=groups,
            data_layout=layout,
            kernel_layout="HWIO" if last else "OIHW",
        ),
        x.transpose(0, 2, 3, 1) if last else x,
        w.transpose(2, 3, 1, 0) if last else w,
    )
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found.transpose(0, 3, 1, 2) if last else found, wanted)


def test_dense_takes_a_zero_point_for_each_output() -> None:
    x, w = integers(2, 5), integers(3, 5, seed=1)
    found = run(
        lambda a, b: qnn.dense(a, b, i32(7), i32(1, 2, 3), f32(0.5), f32(0.5, 0.25, 1.0), 3), x, w
    )
    moved = w.astype(int) - np.array([[1], [2], [3]])
    np.testing.assert_array_equal(found, (x.astype(int) - 7) @ moved.T)


w = relay.var("w", shape=(6, 4, 3, 3), dtype="int8")
