"""Convolution compared with ONNX Runtime, and its layouts with each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.relay import nn
from tests.relay.op.onnx_runs import LENGTHS, each, numbers, run, run_onnx
from tests.sweeps import some

few = settings(max_examples=some(40))


@pytest.mark.parametrize("rank", [1, 2, 3])
@few
@given(data=st.data())
def test_convolution_agrees_with_onnxruntime(rank, data) -> None:
    groups, inputs, outputs = (data.draw(st.integers(1, 3)) for _ in range(3))
    kernel, strides, dilation = (data.draw(each(rank, 1, 3)) for _ in range(3))
    pads = data.draw(each(2 * rank, 0, 2))
    x = numbers((2, groups * inputs, *LENGTHS[:rank]), 0)
    w = numbers((groups * outputs, inputs, *kernel), 1)
    attrs = {"strides": strides, "dilation": dilation, "groups": groups, "padding": pads}
    found = run(lambda a, b: getattr(nn, f"conv{rank}d")(a, b, **attrs), x, w)
    options = {"strides": strides, "dilations": dilation, "group": groups, "pads": pads}
    np.testing.assert_allclose(found, run_onnx("Conv", x, w, **options), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("operator", ["conv2d", "conv2d_transpose"])
@few
@given(
    data_layout=st.permutations("NCHW").map("".join),
    kernel_layout=st.permutations("OIHW").map("".join),
    out_layout=st.permutations("NCHW").map("".join),
    groups=st.sampled_from([1, 2]),
)
def test_layouts_of_a_convolution_only_permute_axes(
    operator, data_layout, kernel_layout, out_layout, groups
) -> None:
    build = getattr(nn, operator)
    plain_kernel = "OIHW" if operator == "conv2d" else "IOHW"
    channels = {"O": 6, "I": 4 // groups} if operator == "conv2d" else {"I": 4, "O": 3}
    x = numbers((2, 4, 6, 7), 0)
    w = numbers(tuple((channels | {"H": 3, "W": 2})[axis] for axis in plain_kernel), 1)
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    moved = run(
        lambda a, b: build(a, b, groups=groups, **layouts),
        x.transpose(["NCHW".index(c) for c in data_layout]),
        w.transpose([plain_kernel.index(c) for c in kernel_layout]),
    )
    plain = run(lambda a, b: build(a, b, groups=groups), x, w)
    # float32 sums in another order: for example, HWOI of a grouped convolution is copied
    # differently.
    np.testing.assert_allclose(
        moved, plain.transpose(["NCHW".index(c) for c in out_layout]), rtol=1e-5, atol=1e-5
    )


def test_hwoi_of_a_depthwise_convolution_has_inputs_first() -> None:
    """In TVM the O of HWOI counts the input channels of a depthwise convolution."""
    x, w = numbers((1, 3, 5, 5), 0), numbers((6, 1, 3, 3), 1)
    plain = run(lambda a, b: nn.conv2d(a, b, groups=3), x, w)
    stored = w.reshape(3, 2, 3, 3).transpose(2, 3, 0, 1)  # (KH, KW, inputs, outputs per input)
    found = run(
        lambda a, b: nn.conv2d(a, b, groups=3, data_layout="NHWC", kernel_layout="HWOI"),
        x.transpose(0, 2, 3, 1),
        stored,
    )
    np.testing.assert_allclose(found, plain.transpose(0, 2, 3, 1), rtol=1e-6, atol=1e-6)


def test_integer_convolution_accumulates_in_out_dtype() -> None:
    x, w = np.full((1, 64, 1, 1), 127, np.int8), np.full((1, 64, 1, 1), 127, np.int8)
    found = run(lambda a, b: nn.conv2d(a, b, out_dtype="int32"), x, w)
    assert found.dtype == np.int32 and found.item() == 64 * 127 * 127
