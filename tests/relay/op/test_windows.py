"""Convolution and pooling against ONNX Runtime, and against loops written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.relay import nn
from byoc_lab.relay.testing import run_infer_type
from byoc_lab.run.reference import evaluate
from tests.relay.op.onnx_runs import numbers, run, run_onnx

few = settings(max_examples=40)


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@few
@given(
    groups=st.integers(1, 3),
    per_group=st.integers(1, 3),
    outputs=st.integers(1, 3),
    kernel=pairs,
    strides=pairs,
    dilation=pairs,
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    size=st.tuples(st.integers(7, 9), st.integers(7, 9)),
    seed=st.integers(0, 9),
)
def test_conv2d_is_that_of_onnx_runtime(
    groups, per_group, outputs, kernel, strides, dilation, pads, size, seed
) -> None:
    x = numbers((2, groups * per_group, *size), seed)
    w = numbers((groups * outputs, per_group, *kernel), seed + 1)
    attrs = {"strides": strides, "dilation": dilation, "groups": groups}
    found = run(lambda a, b: nn.conv2d(a, b, padding=pads, **attrs), x, w)
    wanted = run_onnx("Conv", x, w, strides=strides, dilations=dilation, group=groups, pads=pads)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@few
@given(
    data_layout=st.permutations("NCHW").map("".join),
    kernel_layout=st.permutations("OIHW").map("".join),
    out_layout=st.permutations("NCHW").map("".join),
    groups=st.sampled_from([1, 2]),
)
def test_layouts_only_move_axes(data_layout, kernel_layout, out_layout, groups) -> None:
    x, w = numbers((2, 4, 6, 7), 0), numbers((6, 4 // groups, 3, 2), 1)
    plain = run(lambda a, b: nn.conv2d(a, b, groups=groups), x, w)
    moved = run(
        lambda a, b: nn.conv2d(
            a,
            b,
            groups=groups,
            data_layout=data_layout,
            kernel_layout=kernel_layout,
            out_layout=out_layout,
        ),
        x.transpose(["NCHW".index(c) for c in data_layout]),
        w.transpose(["OIHW".index(c) for c in kernel_layout]),
    )
    # float32 sums in another order: HWOI of a grouped convolution, for one, copies differently.
    np.testing.assert_allclose(
        moved, plain.transpose(["NCHW".index(c) for c in out_layout]), rtol=1e-5, atol=1e-5
    )


def test_hwoi_of_a_depthwise_convolution_has_inputs_first() -> None:
    """In TVM the O of HWOI counts the input channels of a depthwise convolution."""
    x, w = numbers((1, 3, 5, 5), 0), numbers((6, 1, 3, 3), 1)
    plain = run(lambda a, b: nn.conv2d(a, b, groups=3), x, w)
    stored = w.reshape(3, 2, 3, 3).transpose(2, 3, 0, 1)  # (KH, KW, inputs, outputs of each)
    found = run(
        lambda a, b: nn.conv2d(a, b, groups=3, data_layout="NHWC", kernel_layout="HWOI"),
        x.transpose(0, 2, 3, 1),
        stored,
    )
    np.testing.assert_allclose(found, plain.transpose(0, 2, 3, 1), rtol=1e-6, atol=1e-6)


def test_integer_convolution_adds_up_in_out_dtype() -> None:
    x, w = np.full((1, 64, 1, 1), 127, np.int8), np.full((1, 64, 1, 1), 127, np.int8)
    found = run(lambda a, b: nn.conv2d(a, b, out_dtype="int32"), x, w)
    assert found.dtype == np.int32 and found.item() == 64 * 127 * 127


window = {
    "kernel": pairs,
    "strides": pairs,
    "pads": st.tuples(*[st.integers(0, 1)] * 4),
    "size": st.tuples(st.integers(4, 8), st.integers(4, 8)),
}


@few
@given(**window, count=st.booleans())
def test_pooling_is_that_of_onnx_runtime(kernel, strides, pads, size, count) -> None:
    kernel = tuple(max(k, 1 + max(pads)) for k in kernel)  # ONNX Runtime wants pads < kernel
    x = numbers((1, 2, *size), 0)
    options = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    greatest = run(lambda a: nn.max_pool2d(a, kernel, strides, padding=pads), x)
    np.testing.assert_array_equal(greatest, run_onnx("MaxPool", x, **options))
    average = run(
        lambda a: nn.avg_pool2d(a, kernel, strides, padding=pads, count_include_pad=count), x
    )
    wanted = run_onnx("AveragePool", x, count_include_pad=int(count), **options)
    np.testing.assert_allclose(average, wanted, rtol=1e-5, atol=1e-6)


def pooled_by_loops(x, kernel, strides, dilation, pads, count) -> tuple[np.ndarray, np.ndarray]:
    """(maximum, average) of each window in ceil_mode, element by element.

    Source: pool_impl_nd in include/tvm/topi/nn/pooling.h of TVM 0.16: what hangs over the padding
    at the end is never counted. Padding is the least finite value, `min_value` there.
    """
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    room = [x.shape[2] + pads[0] + pads[2], x.shape[3] + pads[1] + pads[3]]
    size = [
        -((span - r) // s) + 1 for r, span, s in zip(room, spans, strides, strict=True)
    ]  # 1 + the ceiling of (room - span) / stride
    least = np.finfo(x.dtype).min
    greatest = np.full((*x.shape[:2], *size), least, x.dtype)
    average = np.zeros_like(greatest)
    for at in np.ndindex(*greatest.shape):
        n, c, i, j = at
        inside, counted = [], 0
        for a in range(kernel[0]):
            for b in range(kernel[1]):
                y = i * strides[0] - pads[0] + a * dilation[0]
                z = j * strides[1] - pads[1] + b * dilation[1]
                if 0 <= y < x.shape[2] and 0 <= z < x.shape[3]:
                    inside.append(x[n, c, y, z])
                counted += y < x.shape[2] + pads[2] and z < x.shape[3] + pads[3]
        greatest[at] = max(inside, default=least)
        average[at] = sum(inside) / max(counted if count else len(inside), 1)
    return greatest, average


@few
@given(**window, dilation=pairs, count=st.booleans())
def test_pooling_in_ceil_mode(kernel, strides, dilation, pads, size, count) -> None:
    x = numbers((1, 2, size[0] + 3, size[1] + 3), 0)  # room for 3 elements 3 apart
    args = (kernel, strides, dilation, pads)
    greatest = run(lambda a: nn.max_pool2d(a, *args, ceil_mode=True), x)
    average = run(lambda a: nn.avg_pool2d(a, *args, ceil_mode=True, count_include_pad=count), x)
    wanted = pooled_by_loops(x, *args, count)
    np.testing.assert_array_equal(greatest, wanted[0])
    np.testing.assert_allclose(average, wanted[1], rtol=1e-5, atol=1e-6)


NORMALISATIONS = [
    (
        lambda x, g, b: nn.layer_norm(x, g, b, axis=-1, epsilon=0.01),
        "LayerNormalization",
        5,
        {"axis": -1, "epsilon": 0.01},
    ),
    (
        lambda x, g, b: nn.instance_norm(x, g, b, epsilon=0.01),
        "InstanceNormalization",
        4,
        {"epsilon": 0.01},
    ),
]


@pytest.mark.parametrize(("call", "op", "channels", "options"), NORMALISATIONS)
def test_normalisation_is_that_of_onnx_runtime(call, op, channels, options) -> None:
    data = numbers((2, 4, 3, 5), 0), numbers((channels,), 1), numbers((channels,), 2)
    np.testing.assert_allclose(
        run(call, *data), run_onnx(op, *data, **options), rtol=1e-4, atol=1e-5
    )


def test_batch_norm_is_that_of_onnx_runtime() -> None:
    x, gamma, beta, mean = numbers((2, 4, 3, 5), 0), *(numbers((4,), n) for n in (1, 2, 3))
    variance = numbers((4,), 4) ** 2 + 0.1
    data = (x, gamma, beta, mean, variance)
    found = run(lambda *args: nn.batch_norm(*args, epsilon=0.01)[0], *data)
    wanted = run_onnx("BatchNormalization", *data, epsilon=0.01)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


ACTIVATIONS = [
    (relay.sigmoid, "Sigmoid", {}),
    (relay.tanh, "Tanh", {}),
    (relay.erf, "Erf", {}),
    (lambda x: nn.softmax(x, axis=1), "Softmax", {"axis": 1}),
    (lambda x: nn.log_softmax(x, axis=-1), "LogSoftmax", {"axis": -1}),
    (lambda x: nn.leaky_relu(x, alpha=0.3), "LeakyRelu", {"alpha": 0.3}),
    (nn.global_avg_pool2d, "GlobalAveragePool", {}),
    (nn.global_max_pool2d, "GlobalMaxPool", {}),
]


@pytest.mark.parametrize(("call", "op", "options"), ACTIVATIONS, ids=[a[1] for a in ACTIVATIONS])
def test_activation_is_that_of_onnx_runtime(call, op, options) -> None:
    x = numbers((2, 3, 4, 5), 0) * 30
    np.testing.assert_allclose(run(call, x), run_onnx(op, x, **options), rtol=1e-5, atol=2e-6)


def test_a_window_wholly_in_padding_gives_the_least_finite_value() -> None:
    x = relay.var("x", shape=(1, 1, 2, 2))
    call = relay.nn.max_pool2d(x, (2, 2), (2, 2), padding=(2, 0, 0, 0))
    found = evaluate(relay.Function([x], call), [np.ones((1, 1, 2, 2), "float32")]).value
    np.testing.assert_array_equal(found.ravel(), [np.finfo("float32").min, 1])
    x = relay.var("x", shape=(1, 1, 2, 2), dtype="int8")
    call = relay.nn.max_pool2d(x, (2, 2), (2, 2), padding=(2, 0, 0, 0))
    found = evaluate(relay.Function([x], call), [np.ones((1, 1, 2, 2), "int8")]).value
    np.testing.assert_array_equal(found.ravel(), [-128, 1])


def test_convolution_in_blocks_is_the_plain_one() -> None:
    rng = np.random.default_rng(0)
    data, weight = rng.normal(size=(2, 8, 5, 5)), rng.normal(size=(4, 8, 3, 3))
    x, w = relay.const(data, "float64"), relay.const(weight, "float64")
    plain = relay.nn.conv2d(x, w, padding=(1, 1), strides=(2, 1))
    blocked = relay.nn.conv2d(
        relay.layout_transform(x, "NCHW", "NCHW4c"),
        relay.layout_transform(w, "OIHW", "OIHW4i2o"),
        padding=(1, 1), strides=(2, 1), data_layout="NCHW4c", kernel_layout="OIHW4i2o",
        out_layout="NCHW2c",
    )  # fmt: skip
    back = relay.layout_transform(blocked, "NCHW2c", "NCHW")
    np.testing.assert_allclose(evaluate(back).value, evaluate(plain).value)


def test_weight_in_blocks_is_solved() -> None:
    x, w = relay.var("x", shape=(1, 8, 24, 24, 4, 4), dtype="int8"), relay.var("w")
    y = relay.nn.conv2d(
        x, w, kernel_size=(3, 3), padding=(1, 1), channels=16, data_layout="NCHW4n4c",
        kernel_layout="OIHW4o4i", out_dtype="int32",
    )  # fmt: skip
    typed = run_infer_type(y)
    assert str(typed.checked_type) == "Tensor[(1, 4, 24, 24, 4, 4), int32]"
    assert str(typed.args[1].checked_type) == "Tensor[(4, 8, 3, 3, 4, 4), int8]"
