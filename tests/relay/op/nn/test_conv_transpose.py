"""Transposed convolution against ONNX Runtime."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.relay import nn
from tests.relay.op.onnx_runs import close, numbers, run, run_onnx
from tests.sweeps import some

few = settings(max_examples=some(12))


LENGTHS = (9, 8, 7)


def each(rank: int, low: int, high: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[st.integers(low, high)] * rank)


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


@few
@given(
    data_layout=st.permutations("NCHW").map("".join),
    kernel_layout=st.permutations("IOHW").map("".join),
    out_layout=st.permutations("NCHW").map("".join),
    groups=st.sampled_from([1, 2]),
)
def test_layouts_of_a_transposed_convolution_only_move_axes(
    data_layout, kernel_layout, out_layout, groups
) -> None:
    x, w = numbers((2, 4, 5, 6), 0), numbers((4, 3, 3, 2), 1)
    plain = run(lambda a, b: nn.conv2d_transpose(a, b, groups=groups), x, w)
    moved = run(
        lambda a, b: nn.conv2d_transpose(
            a,
            b,
            groups=groups,
            data_layout=data_layout,
            kernel_layout=kernel_layout,
            out_layout=out_layout,
        ),
        x.transpose(["NCHW".index(c) for c in data_layout]),
        w.transpose(["IOHW".index(c) for c in kernel_layout]),
    )
    close(moved, plain.transpose(["NCHW".index(c) for c in out_layout]))
