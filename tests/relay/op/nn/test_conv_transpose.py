"""Transposed convolution compared with ONNX Runtime."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.relay import nn
from tests.relay.op.onnx_runs import LENGTHS, close, each, numbers, run, run_onnx
from tests.sweeps import some

few = settings(max_examples=some(12))


@pytest.mark.parametrize("rank", [1, 2, 3])
@few
@given(data=st.data())
def test_transposed_convolution_agrees_with_onnxruntime(rank, data) -> None:
    groups, inputs, outputs = (data.draw(st.integers(1, 2)) for _ in range(3))
    kernel, strides, dilation = (data.draw(each(rank, 1, 3)) for _ in range(3))
    pads = data.draw(each(2 * rank, 0, 1))
    more = tuple(data.draw(st.integers(0, s - 1)) for s in strides)
    x = numbers((2, groups * inputs, *LENGTHS[:rank]), 0)
    w = numbers((groups * inputs, outputs, *kernel), 1)
    attrs = {
        "strides": strides,
        "dilation": dilation,
        "groups": groups,
        "padding": pads,
        "output_padding": more,
    }
    found = run(lambda a, b: getattr(nn, f"conv{rank}d_transpose")(a, b, **attrs), x, w)
    wanted = run_onnx(
        "ConvTranspose",
        x,
        w,
        strides=strides,
        dilations=dilation,
        group=groups,
        pads=pads,
        output_padding=more,
    )
    close(found, wanted)
