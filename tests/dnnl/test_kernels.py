"""Kernels called by hand: right for any shape, and every bad argument is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.dnnl import kernels, native
from byoc_lab.errors import NativeExtensionError
from tests.dnnl import reference as ref
from tests.dnnl.reference import assert_close, exact

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built"),
]
quick = settings(max_examples=40)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


@st.composite
def convolutions(draw):
    """Shapes and attributes of a convolution whose window fits."""
    groups = draw(st.sampled_from([1, 1, 1, 2, 3, 16]))
    channels = groups * draw(st.sampled_from([1, 2, 5, 16]))
    out_channels = groups * draw(st.sampled_from([1, 3, 16]))
    taps = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    dilation = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    padding = draw(st.tuples(*[st.integers(0, 3)] * 4))
    size = [
        max(1, (taps[i] - 1) * dilation[i] + 1 - padding[i] - padding[i + 2])
        + draw(st.integers(0, 9))
        for i in range(2)
    ]
    attrs = {
        "strides": draw(st.tuples(st.integers(1, 3), st.integers(1, 3))),
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
    }
    data = random(draw(st.integers(1, 2)), channels, *size)
    weight = random(out_channels, channels // groups, *taps)
    return data, weight, random(out_channels), attrs


@given(convolutions())
@quick
def test_convolutions_of_any_shape(case) -> None:
    data, weight, bias, attrs = case
    plain = ref.conv2d(exact(data), exact(weight), **attrs)
    biased = ref.conv2d(exact(data), exact(weight), exact(bias), **attrs)
    assert_close(kernels.conv2d(data, weight, **attrs), plain)
    assert_close(kernels.conv2d_relu(data, weight, **attrs), ref.relu(plain))
    assert_close(kernels.conv2d_bias(data, weight, bias, **attrs), biased)
    assert_close(kernels.conv2d_bias_relu(data, weight, bias, **attrs), ref.relu(biased))


@st.composite
def poolings(draw):
    taps = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    dilation = draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))
    extent = [(taps[i] - 1) * dilation[i] + 1 for i in range(2)]
    padding = tuple(draw(st.integers(0, extent[i % 2] - 1)) for i in range(4))
    size = [extent[i] + draw(st.integers(0, 9)) for i in range(2)]
    attrs = {
        "strides": draw(st.tuples(st.integers(1, 3), st.integers(1, 3))),
        "padding": padding,
        "dilation": dilation,
    }
    return (
        random(draw(st.integers(1, 2)), draw(st.sampled_from([1, 3, 16, 20])), *size),
        taps,
        attrs,
    )


@given(poolings(), st.booleans())
@quick
def test_poolings_of_any_shape(case, count_include_pad) -> None:
    data, taps, attrs = case
    assert_close(
        kernels.max_pool2d(data, taps, **attrs), ref.max_pool2d(exact(data), taps, **attrs)
    )
    attrs["count_include_pad"] = count_include_pad
    if not count_include_pad and attrs["dilation"] != (1, 1) and any(attrs["padding"]):
        with pytest.raises(ValueError, match=r"dilation: .* when there is padding"):
            kernels.avg_pool2d(data, taps, **attrs)
        return
    assert_close(
        kernels.avg_pool2d(data, taps, **attrs), ref.avg_pool2d(exact(data), taps, **attrs)
    )


def test_global_average() -> None:
    data = random(2, 5, 7, 6)
    assert_close(kernels.global_avg_pool2d(data), ref.global_avg_pool2d(exact(data)))


@given(st.integers(1, 9), st.integers(1, 70), st.integers(1, 40))
@quick
def test_dense(batch, depth, units) -> None:
    data, weight, bias = random(batch, depth), random(units, depth), random(units)
    assert_close(kernels.dense(data, weight), ref.dense(exact(data), exact(weight)))
    assert_close(
        kernels.dense_bias(data, weight, bias), ref.dense(exact(data), exact(weight), exact(bias))
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((3, 1), (1, 4)), ((5,), (2, 1, 5)), ((), (2,))],
)
def test_add_and_multiply_broadcast(left, right) -> None:
    a, b = random(*left), random(*right, seed=1)
    assert_close(kernels.add(a, b), ref.add(exact(a), exact(b)))
    assert_close(kernels.multiply(a, b), ref.multiply(exact(a), exact(b)))


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4, 5)])
def test_relu(shape) -> None:
    assert_close(kernels.relu(random(*shape)), ref.relu(exact(random(*shape))))


@pytest.mark.parametrize("shape", [(6, 5), (2, 16, 4, 5), (1, 3, 2, 2)])
def test_batch_norm(shape) -> None:
    data, channels = random(*shape), shape[1]
    gamma, beta, mean = (random(channels, seed=seed) for seed in (1, 2, 3))
    variance = np.abs(random(channels, seed=4)) + np.float32(0.1)
    expected = ref.batch_norm(*map(exact, (data, gamma, beta, mean, variance)), 1e-3)
    assert_close(kernels.batch_norm(data, gamma, beta, mean, variance, epsilon=1e-3), expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis) -> None:
    data = 30 * random(4, 6, 5)
    assert_close(kernels.softmax(data, axis=axis), ref.softmax(exact(data), axis))


# ---- arrays in and out


def test_read_only_and_strided_inputs_are_copied() -> None:
    data, weight = random(1, 6, 6, 3).transpose(0, 3, 1, 2), random(4, 3, 3, 3)
    weight.flags.writeable = False
    expected = ref.conv2d(exact(data), exact(weight))
    assert_close(kernels.conv2d(data, weight), expected)


def test_a_dlpack_tensor_that_is_no_array() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    data = random(3, 4)
    assert_close(kernels.relu(tvm_ffi.from_dlpack(data)), ref.relu(exact(data)))


def test_out_is_written_and_returned() -> None:
    data, out = random(3, 4), np.empty((3, 4), np.float32)
    assert kernels.relu(data, out=out) is out
    assert_close(out, ref.relu(exact(data)))


def test_new_arrays_lie_on_cache_lines() -> None:
    for size in (1, 3, 1000):
        assert kernels.relu(random(size)).ctypes.data % 64 == 0


# ---- bad arguments

X, W, B = random(1, 4, 8, 8), random(6, 4, 3, 3), random(6)
M = random(3, 4)
BAD = {
    "weight rank": (lambda: kernels.conv2d(X, W[0]), ValueError, "conv2d: weight: expected 4"),
    "data rank": (lambda: kernels.conv2d(X[0], W), ValueError, "conv2d: data: expected 4"),
    "channels": (lambda: kernels.conv2d(X[:, :3], W), ValueError, "conv2d: weight: expected shape"),
    "groups": (lambda: kernels.conv2d(X, W, groups=4), ValueError, "groups: expected a divisor"),
    "no groups": (lambda: kernels.conv2d(X, W, groups=0), ValueError, "groups: .* found 0"),
    "flag": (lambda: kernels.conv2d(X, W, groups=True), TypeError, "groups: expected an integer"),
    "stride": (lambda: kernels.conv2d(X, W, strides=0), ValueError, r"strides: .* found 0"),
    "float": (lambda: kernels.conv2d(X, W, strides=(1.5, 1)), TypeError, "strides: .*integer"),
    "text": (lambda: kernels.conv2d(X, W, strides="2"), TypeError, "strides: expected a list"),
    "padding": (lambda: kernels.conv2d(X, W, padding=-1), ValueError, "padding: .* found -1"),
    "sides": (lambda: kernels.conv2d(X, W, padding=(1, 2, 3)), ValueError, "padding: expected 4"),
    "dilation": (lambda: kernels.conv2d(X, W, dilation=4), ValueError, "data: its padded height"),
    "huge": (lambda: kernels.conv2d(X, W, padding=2**31 - 1), ValueError, "result: expected"),
    "too large": (lambda: kernels.conv2d(X, W, padding=2**29), ValueError, "result: .*too large"),
    "bigger": (lambda: kernels.conv2d(X, W, padding=2**70), TypeError, "padding: expected an int"),
    "bias": (lambda: kernels.conv2d_bias(X, W, B[:5]), ValueError, "conv2d_bias: bias: expected"),
    "float64": (lambda: kernels.conv2d(X.astype("f8"), W), TypeError, "data: .*found float64"),
    "big-endian": (lambda: kernels.relu(X.astype(">f4")), TypeError, "data: .*found >f4"),
    "objects": (lambda: kernels.relu(np.array([None])), TypeError, "data: .*found object"),
    "a list": (lambda: kernels.relu([1.0]), TypeError, "data: .*found list"),
    "empty": (lambda: kernels.relu(X[:0]), ValueError, "data: expected every dimension in"),
    "rank 7": (lambda: kernels.relu(X.reshape(1, 1, 1, *X.shape)), ValueError, "data: .*at most 6"),
    "out shape": (lambda: kernels.relu(M, out=M.T.copy()), ValueError, "out: expected shape"),
    "out dtype": (lambda: kernels.relu(M, out=M.astype("f8")), TypeError, "out: .*float64"),
    "out strides": (lambda: kernels.relu(M.T, out=random(3, 4).T), ValueError, "out: .*strides"),
    "out is input": (lambda: kernels.relu(M, out=M), ValueError, "out shares memory with data"),
    "dense": (lambda: kernels.dense(M, random(5, 3)), ValueError, "dense: weight: expected shape"),
    "dense bias": (lambda: kernels.dense_bias(M, random(5, 4), B), ValueError, "bias: expected"),
    "add": (lambda: kernels.add(M, B), ValueError, "add: b: expected a shape that broadcasts"),
    "gamma": (lambda: kernels.batch_norm(X, B, B, B, B), ValueError, "gamma: expected shape"),
    "epsilon": (
        lambda: kernels.batch_norm(X, *[X[0, :, 0, 0]] * 4, epsilon=-1.0),
        ValueError,
        "epsilon: expected a value of at least 0",
    ),
    "nan": (
        lambda: kernels.batch_norm(X, *[X[0, :, 0, 0]] * 4, epsilon=float("nan")),
        ValueError,
        "epsilon: .*finite",
    ),
    "window": (lambda: kernels.max_pool2d(X, 9), ValueError, "data: its padded height 8"),
    "no window": (lambda: kernels.max_pool2d(X, 0), ValueError, "pool_size: .*found 0"),
    "pool padding": (lambda: kernels.avg_pool2d(X, 2, padding=2), ValueError, "padding: expected"),
    "include": (
        lambda: kernels.avg_pool2d(X, 2, count_include_pad=1),
        TypeError,
        "count_include_pad: expected true or false",
    ),
    "axis": (
        lambda: kernels.softmax(M, axis=2),
        ValueError,
        r"axis: expected a value in \[-2, 2\)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_is_named(case) -> None:
    call, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        call()


def test_the_native_side_checks_on_its_own() -> None:
    """Callers that do not come through Python's wrappers meet the same checks."""
    relu = native.function("relu")
    with pytest.raises(
        TypeError, match=r"relu: data: expected dtype float32, .*int32, found float64"
    ):
        relu(M.astype("f8"), M)
    with pytest.raises(ValueError, match="relu: data: expected a row-major contiguous"):
        relu(X[:, :, ::2], np.empty((1, 4, 4, 8), np.float32))
    unaligned = np.zeros(17, np.uint8)[1:].view(np.float32)
    with pytest.raises(ValueError, match="relu: data: expected data aligned"):
        relu(unaligned, np.empty(4, np.float32))
    with pytest.raises(TypeError):
        relu(M)
    with pytest.raises(TypeError):
        relu(M, None)


def test_a_failed_check_leaves_out_untouched() -> None:
    out = np.full((3, 5), 7, np.float32)
    with pytest.raises(ValueError, match="weight"):
        kernels.dense(M, random(5, 3), out=out)
    assert np.all(out == 7)


def test_threads_are_set_for_this_thread() -> None:
    before = native.get_num_threads()
    native.set_num_threads(1)
    try:
        assert native.get_num_threads() == 1
    finally:
        native.set_num_threads(before)
    with pytest.raises(ValueError, match="threads: expected a value in"):
        native.set_num_threads(0)


def test_a_missing_library_says_how_to_build_it(monkeypatch) -> None:
    monkeypatch.delenv("BYOC_LAB_DNNL_LIBRARY", raising=False)
    monkeypatch.setattr(native, "LIBRARY", "byoc_lab_absent")
    with pytest.raises(NativeExtensionError, match=r"(?s)byoc_lab_absent.*`pip install -e \.`"):
        native.load.__wrapped__()
