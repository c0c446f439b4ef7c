"""Pooling compared with ONNX Runtime, and in ceil mode with loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay import nn
from byoc_lab.run.reference import evaluate
from tests.relay.op.onnx_runs import LENGTHS, close, each, numbers, run, run_onnx
from tests.sweeps import some

few = settings(max_examples=some(40))


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


window = {
    "kernel": pairs,
    "strides": pairs,
    "pads": st.tuples(*[st.integers(0, 1)] * 4),
    "size": st.tuples(st.integers(4, 8), st.integers(4, 8)),
}


def pooled_by_loops(x, kernel, strides, dilation, pads, count) -> tuple[np.ndarray, np.ndarray]:
    """(maximum, average) of each window in ceil_mode, element by element.

    Source: pool_impl_nd in include/tvm/topi/nn/pooling.h of TVM 0.16. Elements beyond the final
    padding are never counted. Padding is the least finite value, `min_value` there.
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
def test_pooling_in_ceil_mode_equals_the_windows(
    kernel, strides, dilation, pads, size, count
) -> None:
    x = numbers((1, 2, size[0] + 3, size[1] + 3), 0)  # room for 3 elements at a distance of 3
    args = (kernel, strides, dilation, pads)
    greatest = run(lambda a: nn.max_pool2d(a, *args, ceil_mode=True), x)
    average = run(lambda a: nn.avg_pool2d(a, *args, ceil_mode=True, count_include_pad=count), x)
    wanted = pooled_by_loops(x, *args, count)
    np.testing.assert_array_equal(greatest, wanted[0])
    np.testing.assert_allclose(average, wanted[1], rtol=1e-5, atol=1e-6)


def test_window_wholly_in_padding_gives_the_least_finite_value() -> None:
    x = relay.var("x", shape=(1, 1, 2, 2))
    call = relay.nn.max_pool2d(x, (2, 2), (2, 2), padding=(2, 0, 0, 0))
    found = evaluate(relay.Function([x], call), [np.ones((1, 1, 2, 2), "float32")]).value
    np.testing.assert_array_equal(found.ravel(), [np.finfo("float32").min, 1])
    x = relay.var("x", shape=(1, 1, 2, 2), dtype="int8")
    call = relay.nn.max_pool2d(x, (2, 2), (2, 2), padding=(2, 0, 0, 0))
    found = evaluate(relay.Function([x], call), [np.ones((1, 1, 2, 2), "int8")]).value
    np.testing.assert_array_equal(found.ravel(), [-128, 1])


@pytest.mark.parametrize("rank", [1, 2, 3])
@few
@given(data=st.data(), count=st.booleans())
def test_pooling_agrees_with_onnxruntime_and_with_the_windows(rank, data, count) -> None:
    pads = data.draw(each(2 * rank, 0, 1))
    # ONNX Runtime wants pads < kernel.
    kernel = data.draw(each(rank, 1 + max(pads), 3))
    strides = data.draw(each(rank, 1, 3))
    x = numbers((1, 2, *LENGTHS[:rank]), 0)
    options = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    greatest = run(lambda a: getattr(nn, f"max_pool{rank}d")(a, kernel, strides, padding=pads), x)
    np.testing.assert_array_equal(greatest, run_onnx("MaxPool", x, **options))
    average = run(
        lambda a: getattr(nn, f"avg_pool{rank}d")(
            a, kernel, strides, padding=pads, count_include_pad=count
        ),
        x,
    )
    close(average, window_means(x, kernel, strides, pads, count))
    if rank == 2:
        wanted = run_onnx("AveragePool", x, count_include_pad=int(count), **options)
        np.testing.assert_allclose(average, wanted, rtol=1e-5, atol=1e-6)


def window_means(x: np.ndarray, kernel, strides, pads, count: bool) -> np.ndarray:
    """Average pooling in float64.

    ONNX Runtime up to 1.23 counts the final padding wrongly.
    """
    rank = len(kernel)
    axes = tuple(range(2, 2 + rank))
    widths = [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)]

    def sums(values: np.ndarray) -> np.ndarray:
        padded = np.pad(values.astype("float64"), widths)
        windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axes)
        steps = tuple(slice(None, None, s) for s in strides)
        return windows[(slice(None), slice(None), *steps)].sum(tuple(range(-rank, 0)))

    return sums(x) / (np.prod(kernel) if count else sums(np.ones_like(x)))


@pytest.mark.parametrize("layout, dtype", [("NCHW", "float32"), ("NHWC", "int32")])
@pytest.mark.parametrize("kind, include", [("max", None), ("avg", False), ("avg", True)])
def test_ceil_mode_is_built_with_the_shape_of_its_type(layout, kind, include, dtype):
    """If the last window begins in the padding, Relax omits it and TVM 0.16 counts it."""
    pytest.importorskip("tvm")
    for size, kernel, stride, padding in [
        ((5, 5), 3, 3, (1, 1, 1, 1)),
        ((5, 7), 2, 3, (0, 1, 1, 1)),
        ((6, 4), 3, 2, (1, 0, 0, 2)),
        ((7, 6), 3, 4, (0, 0, 0, 0)),
    ]:
        shape = (1, 2, *size) if layout == "NCHW" else (1, *size, 2)
        more = {} if include is None else {"count_include_pad": include}
        x = relay.var("x", shape=shape, dtype=dtype)
        call = getattr(relay.nn, f"{kind}_pool2d")(
            x, (kernel, kernel), (stride, stride), padding=padding, layout=layout, ceil_mode=True,
            **more,
        )  # fmt: skip
        mod = byoc_lab.IRModule.from_expr(relay.Function([x], call))
        data = [(np.random.default_rng(0).normal(size=shape) * 9).astype(dtype)]
        wanted = byoc_lab.evaluate(mod, data).outputs[0]
        made = byoc_lab.build(mod).run(data)[0]
        assert made.shape == wanted.shape
        np.testing.assert_allclose(made, wanted, rtol=1e-5)


def test_region_after_ceil_mode_gets_the_shape_of_its_type():
    pytest.importorskip("tvm")
    x = relay.var("x", shape=(1, 4, 5, 5))
    pooled = relay.nn.max_pool2d(x, (3, 3), (3, 3), padding=(1, 1), ceil_mode=True)
    mod = byoc_lab.IRModule.from_expr(relay.Function([x], relay.nn.relu(pooled)))
    data = [np.ones((1, 4, 5, 5), "float32")]
    made = byoc_lab.build(byoc_lab.trace(mod, "dnnl").result).run(data)[0]
    np.testing.assert_array_equal(made, byoc_lab.evaluate(mod, data).outputs[0])
