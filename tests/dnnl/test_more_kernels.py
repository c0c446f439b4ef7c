"""Kernels for one to three spatial axes, normalisations, element-wise functions, moves."""

from __future__ import annotations

from math import erf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.dnnl import kernels, native
from tests.dnnl import reference as ref
from tests.dnnl.net import BINARY, Net
from tests.dnnl.reference import Bounded, assert_close, exact

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built"),
]
quick = settings(max_examples=30, deadline=None)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng([seed, *shape]).standard_normal(shape), np.float32)


# ---- windows


@st.composite
def windows(draw, axes: int, transposed: bool = False):
    """groups, taps, attributes and spatial sizes of a window that fits."""
    groups = draw(st.sampled_from([1, 1, 2, 8]))
    few = st.integers(1, 3)
    taps = [draw(few) for _ in range(axes)]
    dilation = [draw(st.integers(1, 2)) for _ in range(axes)]
    extent = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    padding = [draw(st.integers(0, extent[n % axes] - 1)) for n in range(2 * axes)]
    size = [e + draw(st.integers(0, 5)) for e in extent]
    strides = [draw(few) for _ in range(axes)]
    attrs = {"strides": strides, "padding": padding, "dilation": dilation}
    return groups, taps, attrs, size


@pytest.mark.parametrize("axes", [1, 2, 3])
@given(st.data())
@quick
def test_convolutions(axes: int, drawn: st.DataObject) -> None:
    groups, taps, attrs, size = drawn.draw(windows(axes))
    channels = groups * drawn.draw(st.sampled_from([1, 3, 4]))
    data = random(drawn.draw(st.integers(1, 2)), channels, *size)
    weight, bias = random(groups * 2, channels // groups, *taps), random(groups * 2)
    conv = getattr(kernels, f"conv{axes}d")
    expected = ref.conv(*map(exact, (data, weight, bias)), **attrs, groups=groups)
    assert_close(conv(data, weight, bias, **attrs, groups=groups), expected)
    post_ops = [
        {"kind": "binary", "alg": "mul", "input": random(groups * 2, *[1] * axes)},
        {"kind": "eltwise", "alg": "relu"},
    ]
    chained = ref.relu(ref.multiply(expected, exact(post_ops[0]["input"])))
    assert_close(conv(data, weight, bias, **attrs, groups=groups, post_ops=post_ops), chained)


@pytest.mark.parametrize("axes", [1, 2, 3])
@given(st.data())
@quick
def test_transposed_convolutions(axes: int, drawn: st.DataObject) -> None:
    groups, taps, attrs, size = drawn.draw(windows(axes))
    attrs["output_padding"] = [drawn.draw(st.integers(0, s - 1)) for s in attrs["strides"]]
    channels = groups * drawn.draw(st.sampled_from([1, 3]))
    data, weight = random(2, channels, *size), random(channels, 2, *taps)
    bias = random(2 * groups)
    expected = ref.conv_transpose(*map(exact, (data, weight, bias)), **attrs, groups=groups)
    conv = getattr(kernels, f"conv{axes}d_transpose")
    assert_close(conv(data, weight, bias, **attrs, groups=groups), expected)


@pytest.mark.parametrize("axes", [1, 2, 3])
@given(st.data())
@quick
def test_poolings(axes: int, drawn: st.DataObject) -> None:
    _, taps, attrs, size = drawn.draw(windows(axes))
    data = random(2, drawn.draw(st.sampled_from([1, 5, 16])), *size)
    pooled = getattr(kernels, f"max_pool{axes}d")(data, taps, **attrs)
    assert_close(pooled, ref.max_pool(exact(data), taps, **attrs))
    attrs["dilation"] = [1] * axes
    attrs["padding"] = [min(p, taps[n % axes] - 1) for n, p in enumerate(attrs["padding"])]
    for counted in (False, True):
        pooled = getattr(kernels, f"avg_pool{axes}d")(
            data, taps, **attrs, count_include_pad=counted
        )
        assert_close(pooled, ref.avg_pool(exact(data), taps, **attrs, count_include_pad=counted))
    for name, reference in (("max", ref.global_max_pool), ("avg", ref.global_avg_pool)):
        pooled = getattr(kernels, f"global_{name}_pool{axes}d")(data)
        assert_close(pooled, reference(exact(data)))


@pytest.mark.parametrize("alg", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("size", "wanted"), [((5,), (8,)), ((4, 6), (7, 3)), ((2, 3, 4), (4, 6, 2))]
)
def test_resampling(alg: str, size: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    data = random(2, 3, *size)
    assert_close(kernels.resample(data, wanted, alg=alg), ref.resample(exact(data), wanted, alg))


# ---- products and normalisations


@given(st.integers(1, 3), st.integers(1, 20), st.booleans(), st.booleans())
@quick
def test_matmul_and_batch_matmul(batch: int, depth: int, left: bool, right: bool) -> None:
    a, b, bias = random(batch, 4, depth), random(batch, depth, 3, seed=1), random(3)
    expected = ref.matmul(exact(a), exact(b))
    a = a.swapaxes(1, 2) if left else a
    b = b.swapaxes(1, 2) if right else b
    turned = {"transpose_a": left, "transpose_b": right}
    assert_close(kernels.batch_matmul(a, b, **turned), expected)
    assert_close(kernels.matmul(a, b, bias, **turned), ref.add(expected, exact(bias)))


@pytest.mark.parametrize("shape", [(3, 5), (2, 7, 16), (1, 2, 3, 33)])
def test_layer_norm(shape: tuple[int, ...]) -> None:
    data, gamma, beta = random(*shape), random(shape[-1], seed=1), random(shape[-1], seed=2)
    expected = ref.layer_norm(*map(exact, (data, gamma, beta)), 1e-3)
    assert_close(kernels.layer_norm(data, gamma, beta, epsilon=1e-3), expected)


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 2, 4, 2)])
def test_batch_norm_of_any_rank(shape: tuple[int, ...]) -> None:
    vectors = [random(3, seed=n) for n in range(3)]
    variance = np.abs(random(3, seed=4)) + np.float32(0.1)
    data = random(*shape)
    expected = ref.batch_norm(*map(exact, (data, *vectors, variance)), 1e-5)
    assert_close(kernels.batch_norm(data, *vectors, variance), expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_log_softmax(axis: int) -> None:
    data = 30 * random(4, 6, 5)
    assert_close(kernels.log_softmax(data, axis=axis), ref.log_softmax(exact(data), axis))


# ---- element by element


def gelu(x: np.ndarray) -> np.ndarray:
    return x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


FUNCTIONS = {
    "abs": (np.abs, {}),
    "clip": (lambda x: np.clip(x, -0.5, 1.5), {"alpha": -0.5, "beta": 1.5}),
    "elu": (lambda x: np.where(x > 0, x, 0.3 * np.expm1(x)), {"alpha": 0.3}),
    "exp": (np.exp, {}),
    "gelu": (gelu, {}),
    "gelu_tanh": (
        lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        {},
    ),
    "hard_sigmoid": (lambda x: np.clip(x / 6 + 0.5, 0, 1), {"alpha": 1 / 6, "beta": 0.5}),
    "hard_swish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), {"alpha": 1 / 6, "beta": 0.5}),
    "linear": (lambda x: 2 * x - 1, {"alpha": 2.0, "beta": -1.0}),
    "log": (lambda x: np.log(np.abs(x) + 0.1), {}),
    "mish": (lambda x: x * np.tanh(np.log1p(np.exp(x))), {}),
    "pow": (lambda x: 2 * x**3, {"alpha": 2.0, "beta": 3.0}),
    "relu": (lambda x: np.where(x > 0, x, 0.25 * x), {"alpha": 0.25}),
    "round": (np.round, {}),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), {}),
    "softplus": (lambda x: np.log1p(np.exp(x)), {"alpha": 1.0}),
    "sqrt": (lambda x: np.sqrt(np.abs(x) + 0.1), {}),
    "square": (np.square, {}),
    "swish": (lambda x: x / (1 + np.exp(-2 * x)), {"alpha": 2.0}),
    "tanh": (np.tanh, {}),
}


@pytest.mark.parametrize("alg", FUNCTIONS)
def test_element_wise_functions(alg: str) -> None:
    function, attrs = FUNCTIONS[alg]
    data = 3 * random(5, 7, 9)
    given = np.abs(data) + np.float32(0.1) if alg in ("log", "sqrt") else data
    wide = given.astype(np.float64)
    if alg in ("log", "sqrt"):
        wide = wide - 0.1
    expected = function(wide)
    result = kernels.eltwise(alg, given, **attrs)
    allowed = 4 * ref.TRANSCENDENTAL * (1 + np.abs(expected) + np.abs(wide))
    assert np.all(np.abs(result - expected) <= allowed)


def test_named_functions() -> None:
    data = random(3, 4)
    for name in ("abs", "exp", "gelu", "gelu_tanh", "mish", "relu", "round", "sigmoid", "tanh"):
        np.testing.assert_array_equal(
            getattr(kernels, name)(data), kernels.eltwise(name, data), err_msg=name
        )
    np.testing.assert_array_equal(kernels.clip(data, -1, 1), np.clip(data, -1, 1))
    np.testing.assert_allclose(kernels.leaky_relu(data, 0.5), np.where(data > 0, data, data / 2))
    np.testing.assert_allclose(kernels.elu(data), np.where(data > 0, data, np.expm1(data)), 1e-5)
    np.testing.assert_allclose(kernels.swish(data), data / (1 + np.exp(-data)), 1e-5)
    np.testing.assert_array_equal(kernels.sqrt(np.abs(data)), np.sqrt(np.abs(data)))
    np.testing.assert_allclose(kernels.log(np.abs(data)), np.log(np.abs(data)), 1e-5, 1e-6)


@pytest.mark.parametrize("alg", BINARY)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.data())
@quick
def test_binary_broadcasts(alg: str, shape: list[int], drawn: st.DataObject) -> None:
    kept = drawn.draw(st.integers(0, len(shape)))
    other = [n if drawn.draw(st.booleans()) else 1 for n in shape[kept:]]
    a, b = random(*shape), random(*other, seed=1)
    if drawn.draw(st.booleans()):
        a, b = b, a
    assert_close(kernels.binary(alg, a, b), BINARY[alg](exact(a), exact(b)))


def test_sums() -> None:
    terms = [random(3, 4, seed=n) for n in range(3)]
    expected = ref.add(ref.add(exact(terms[0]), exact(terms[1])), exact(terms[2]))
    assert_close(kernels.sum(*terms), expected)


# ---- moves


@pytest.mark.parametrize("axes", [(1, 0), (0, 2, 1), (3, 0, 2, 1), (4, 3, 2, 1, 0)])
def test_transposed(axes: tuple[int, ...]) -> None:
    data = random(*range(2, 2 + len(axes)))
    np.testing.assert_array_equal(kernels.transpose(data, axes), data.transpose(axes))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenated(axis: int) -> None:
    parts = []
    for n in (2, 1, 3):
        shape = [4, 5, 6]
        shape[axis] = n
        parts.append(random(*shape, seed=n))
    np.testing.assert_array_equal(
        kernels.concatenate(parts, axis=axis), np.concatenate(parts, axis)
    )


@pytest.mark.parametrize("alg", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_reductions(alg: str, axis: int) -> None:
    data = random(3, 7, 5)
    assert_close(kernels.reduce(alg, data, axis=axis), ref.reduce(exact(data), alg, axis))


# ---- in graphs: views, layouts, chains


def test_a_network_in_nhwc_moves_nothing_inside() -> None:
    """Channels last at the edges are a view; convolutions keep their layouts between."""
    net = Net()
    rows = net.input(1, 8, 9, 32)
    tensor = net.op("transpose", [rows], axes=(0, 3, 1, 2))
    for _ in range(2):
        tensor = net.op("conv2d", [tensor, net.const(32, 32, 3, 3)], padding=[1, 1, 1, 1])
        tensor = net.op("transpose", [tensor], axes=(0, 2, 3, 1))
        tensor = net.op("transpose", [tensor], axes=(0, 3, 1, 2))
    region = net.check(net.op("transpose", [tensor], axes=(0, 2, 3, 1)), tensor)
    convolutions = [op for op in region.stats()["ops"] if op["kind"] == "conv2d"]
    assert sum(op["reorders"] for op in convolutions) <= 3  # the input, the two outputs
    assert convolutions[1]["input_layouts"]["data"] == convolutions[0]["dst_layout"]


def test_a_view_of_a_view_and_a_reshape_of_a_transposed_tensor() -> None:
    net = Net()
    data = net.input(2, 3, 4)
    turned = net.op("transpose", [data], axes=(2, 0, 1))
    again = net.op("transpose", [turned], axes=(1, 0, 2))
    flat = net.op("reshape", [turned], shape=(4, 6))
    net.check(turned, again, flat, net.op("eltwise", [again], alg="tanh"))


def test_branches_are_joined() -> None:
    net = Net()
    data = net.input(1, 16, 6, 6)
    branches = [
        net.op("conv2d", [data, net.const(16, 16, 1, 1)]),
        net.op("conv2d", [data, net.const(8, 16, 3, 3)], padding=[1, 1, 1, 1]),
        data,
    ]
    joined = net.op("concat", branches, [{"kind": "eltwise", "alg": "relu"}], axis=1)
    net.check(net.op("reduce", [joined], alg="mean", axis=2), net.op("sum", [joined, joined]))


BAD = {
    "axes": (
        lambda: kernels.transpose(random(2, 3), (0, 0)),
        ValueError,
        r"axes: expected an order of 0 to 1, found \(0, 0\)",
    ),
    "no axes": (
        lambda: kernels.transpose(random(2, 3), 1),
        TypeError,
        "axes: expected a list",
    ),
    "many axes": (
        lambda: kernels.transpose(random(2, 3), range(9)),
        (TypeError, ValueError),
        "axes: expected",
    ),
    "concat": (
        lambda: kernels.concatenate([random(2, 3), random(2, 4)]),
        ValueError,
        r"data1: expected shape \(2, 3\)",
    ),
    "concat rank": (
        lambda: kernels.concatenate([random(2, 3), random(2)]),
        ValueError,
        "data1: expected shape",
    ),
    "nothing": (lambda: kernels.concatenate([]), ValueError, "expected inputs data"),
    "sum": (lambda: kernels.sum(random(2), random(3)), ValueError, "data1: expected shape"),
    "alg": (lambda: kernels.reduce("median", random(2)), ValueError, "unknown alg 'median'"),
    "reduced axis": (
        lambda: kernels.reduce("sum", random(2), axis=1),
        ValueError,
        "axis: expected",
    ),
    "size": (lambda: kernels.resample(random(1, 1, 4), (0,)), ValueError, "size: .* found 0"),
    "big size": (
        lambda: kernels.resample(random(1, 1, 4, 4), (2**31 - 1, 2**31 - 1)),
        ValueError,
        "result: .*too large",
    ),
    "output padding": (
        lambda: kernels.conv1d_transpose(random(1, 2, 4), random(2, 1, 3), output_padding=1),
        ValueError,
        "output_padding: expected values smaller than the strides",
    ),
    "nothing left": (
        lambda: kernels.conv1d_transpose(random(1, 2, 1), random(2, 1, 1), padding=1),
        ValueError,
        "padding: it leaves nothing",
    ),
    "layer_norm": (
        lambda: kernels.layer_norm(random(2, 3), random(2), random(3)),
        ValueError,
        r"gamma: expected shape \(3,\)",
    ),
    "rank": (
        lambda: kernels.conv3d(random(1, 2, 4, 4), random(2, 2, 1, 1, 1)),
        ValueError,
        "data: e",
    ),
    "post-op": (
        lambda: kernels.dense(random(2, 3), random(4, 3), post_ops=[{"kind": "conv"}]),
        ValueError,
        "post-op 0: unknown kind 'conv'",
    ),
    "post-op input": (
        lambda: kernels.dense(
            random(2, 3), random(4, 3), post_ops=[{"kind": "sum", "input": random(3)}]
        ),
        ValueError,
        r"input of post-op 0: expected shape \(2, 4\)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_is_named(case: str) -> None:
    call, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        call()


def test_a_view_takes_no_post_ops() -> None:
    run = native.function("run_op")
    data, out = random(2, 3), np.empty((3, 2), np.float32)
    relu = [{"kind": "eltwise", "alg": "relu"}]
    with pytest.raises(ValueError, match="a transpose takes no post-ops"):
        run("here", "transpose", [data], {"axes": [1, 0]}, relu, [], out)
    with pytest.raises(ValueError, match="post-op 0: input: expected 0, one of 0 tensors"):
        run("here", "eltwise", [data], {"alg": "relu"}, [{"kind": "sum", "input": 0}], [], data)
    with pytest.raises(ValueError, match="unknown kind 'conv9d'"):
        run("here", "conv9d", [data], {}, [], [], out)
    assert_close(kernels.relu(data), Bounded(np.maximum(data, 0), np.zeros((2, 3))))
