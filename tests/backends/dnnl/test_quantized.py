"""Quantized regions compute the results of Relay's own operators bit for bit, for any numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import kernels
from byoc_lab.backends.dnnl.operators import why_not
from byoc_lab.errors import BuildError
from byoc_lab.passes import MergeComposite
from byoc_lab.passes.quantize import qnn_transform
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run.reference import evaluate
from tests.sweeps import some


def function(expr: Expr) -> Function:
    made = infer_expr(Function(free_vars(expr), expr))
    assert isinstance(made, Function)
    return made


def number(value: float, dtype: str = "float32") -> Expr:
    return relay.const(np.asarray(value, dtype))


def zero(value: Any = 0) -> Expr:
    return number(value, "int32")


def integers(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def check(expr: Expr, seed: int = 0) -> dict[str, Any]:
    """Asserts that the region equals the reference bit for bit; returns its graph."""
    func, rng = function(expr), np.random.default_rng(seed)
    inputs = []
    for p in func.params:
        ty: Any = p.checked_type
        if ty.dtype == "float32":
            inputs.append((rng.standard_normal(ty.concrete_shape) * 50).astype(np.float32))
        else:
            inputs.append(integers(rng, ty.dtype, *ty.concrete_shape))
    wanted = evaluate(func, inputs).value
    region = dnnl.compile_region(func, "r")
    for _ in range(2):
        (got,) = region(*inputs)
        assert got.dtype == np.asarray(wanted).dtype
        np.testing.assert_array_equal(got, wanted)
    return region.graph


SCALES = st.floats(2.0**-12, 4.0, width=32)
DTYPES = st.sampled_from(["uint8", "int8"])


@st.composite
def chains(draw: st.DrawFn, sums: bool = True) -> Expr:
    """A product, perhaps a bias, requantize, perhaps clip and cast, perhaps a sum and a clip."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    data_dtype, dtype = draw(DTYPES), draw(DTYPES)
    units, channels = draw(st.sampled_from([1, 3, 8, 16, 20])), draw(st.sampled_from([1, 4, 16]))
    dense = draw(st.booleans())
    limits = np.iinfo(data_dtype)
    data_zero = zero(draw(st.integers(int(limits.min), int(limits.max))))
    rest = (data_zero, zero(), number(0.5), number(0.25))
    if dense:
        x = relay.var("x", shape=(draw(st.integers(1, 4)), channels), dtype=data_dtype)
        weight = relay.const(integers(rng, "int8", units, channels))
        product = qnn.dense(x, weight, *rest, units=units)
        axis, bias_shape = 1, (units,)
    else:
        nhwc = draw(st.booleans())
        grouped = draw(st.booleans()) and channels == units
        shape = (2, 7, 6, channels) if nhwc else (2, channels, 7, 6)
        x = relay.var("x", shape=shape, dtype=data_dtype)
        weight = integers(rng, "int8", units, 1 if grouped else channels, 3, 2)
        if nhwc:
            weight = np.ascontiguousarray(
                weight.transpose(2, 3, 0, 1) if grouped else weight.transpose(2, 3, 1, 0)
            )
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWOI" if grouped else "HWIO"}
        product = qnn.conv2d(
            x, relay.const(weight), *rest, kernel_size=(3, 2),
            channels=units, strides=draw(st.sampled_from([(1, 1), (2, 1)])),
            padding=draw(st.sampled_from([(0, 0), (1, 1), (0, 1, 2, 1)])),
            groups=channels if grouped else 1, **(layouts if nhwc else {}),
        )  # fmt: skip
        axis, bias_shape = (3, (units,)) if nhwc else (1, (units, 1, 1))
    if draw(st.booleans()):
        bias = relay.const(rng.integers(-40000, 40000, bias_shape, dtype=np.int32))
        product = relay.add(product, bias)
    scale = draw(SCALES)
    spread = rng.uniform(0.01, 1, units) if draw(st.booleans()) and units > 1 else 1.0
    out_limits = np.iinfo(dtype)
    wide = draw(st.booleans())
    out = qnn.requantize(
        product,
        relay.const(np.asarray(scale * spread, np.float32)),
        zero(draw(st.integers(-1000, 1000))),
        number(draw(SCALES)),
        zero(draw(st.integers(int(out_limits.min), int(out_limits.max)))),
        axis=axis,
        rounding=draw(st.sampled_from(["UPWARD", "TONEAREST", "TOEVEN", "None"])),
        out_dtype="int32" if wide else dtype,
    )
    if wide or draw(st.booleans()):
        low = draw(st.integers(int(out_limits.min), int(out_limits.max) - 1))
        out = relay.clip(out, a_min=low, a_max=draw(st.integers(low, int(out_limits.max))))
    if wide:
        out = relay.cast(out, dtype=dtype)
    if sums and draw(st.booleans()):
        other = relay.var("other", infer_expr(out).checked_type)
        zeros = [zero(draw(st.integers(-20, 20))) for _ in range(3)]
        scales = [number(draw(SCALES)) for _ in range(3)]
        pairs = [p for pair in zip(scales, zeros, strict=True) for p in pair]
        out = qnn.add(out, other, *pairs)
        if draw(st.booleans()):
            out = relay.clip(out, a_min=0, a_max=100)
    return out


@pytest.mark.native
@given(chains(), st.integers(0, 100))
@settings(max_examples=some(60), deadline=None)
def test_quantized_chains_are_exact(expr: Expr, seed: int) -> None:
    check(expr, seed)


@given(chains())
@settings(max_examples=some(20), deadline=None)
def test_every_quantized_chain_is_one_composite(expr: Expr) -> None:
    mod = infer_module(IRModule.from_expr(expr))
    merged = MergeComposite(dnnl.pattern_table())(mod)
    found = [
        node.attrs["Composite"]
        for node in post_order(merged["main"])
        if isinstance(node, Function) and "Composite" in node.attrs
    ]
    assert len(found) == 1
    assert found[0] in ("dnnl.qnn.conv2d", "dnnl.qnn.dense")


x8 = relay.var("x", shape=(1, 16, 5, 5), dtype="uint8")


def small_conv(seed: int = 0, **given: Any) -> Call:
    rng = np.random.default_rng(seed)
    parts = {"input_zero_point": zero(3), "kernel_zero_point": zero(), **given}
    return qnn.conv2d(
        x8, relay.const(integers(rng, "int8", 8, 16, 1, 1)), parts["input_zero_point"],
        parts["kernel_zero_point"], number(1), number(1), kernel_size=(1, 1), channels=8,
    )  # fmt: skip


@pytest.mark.native
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_single_quantized_operators_are_exact(dtype: str) -> None:
    reals = relay.var("r", shape=(3, 40))
    vector = relay.const(np.linspace(0.1, 2, 40).astype(np.float32))
    check(qnn.quantize(reals, number(0.5), zero(7), out_dtype=dtype))
    check(qnn.quantize(reals, vector, zero(-3), axis=1, out_dtype=dtype))
    held = relay.var("h", shape=(3, 40), dtype=dtype)
    check(qnn.dequantize(held, number(0.3), zero(5)))
    check(qnn.dequantize(held, vector, zero(5), axis=1))
    check(qnn.requantize(held, number(0.3), zero(5), number(0.1), zero(1), out_dtype="int8"))
    check(qnn.add(held, relay.var("o", shape=(3, 40), dtype=dtype), number(0.3), zero(1),
                  number(0.2), zero(2), number(0.4), zero(3)))  # fmt: skip


@pytest.mark.native
@pytest.mark.parametrize("channels", [3, 700, 2500])
def test_scales_along_the_last_axis_are_exact(channels: int) -> None:
    """Rows shorter and longer than the kernel's loops; enough elements for several threads."""
    shape = (20_000 // channels, channels)
    vector = relay.const(np.linspace(0.001, 0.9, channels).astype(np.float32))
    check(qnn.quantize(relay.var("r", shape=shape), vector, zero(2), axis=1, out_dtype="int8"))
    for dtype, points in (("int32", zero(0)), ("int32", zero(3)), ("int8", zero(-3))):
        held = relay.var("h", shape=shape, dtype=dtype)
        ends = (vector, points, number(0.7), zero(1))
        check(qnn.requantize(held, *ends, axis=1, out_dtype="uint8"))
        check(qnn.dequantize(held, vector, points, axis=1))


@pytest.mark.native
@pytest.mark.parametrize("point", [0, 7, -(2**31), 2**31 - 1])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_quantized_operators_at_the_ends_of_the_ranges_are_exact(point: int, dtype: str) -> None:
    """The largest numbers, zero points outside the result's range, ratios from tiny to large."""
    ends = [-(2**31), 2**31 - 1, 2**30, -1, 0, 1, 2, 3, -2, -3, 255]
    data = relay.const(np.array(ends, np.int32))
    for ratio in (2.0**-70, 2.0**-33, 0.3, 1 - 2.0**-24, 1.0, 1.5):
        for rounding in ("UPWARD", "TONEAREST", "TOEVEN"):
            made = qnn.requantize(
                relay.var("h", shape=(len(ends),), dtype="int32"), number(ratio), zero(0),
                number(1), zero(point), rounding=rounding, out_dtype=dtype,
            )  # fmt: skip
            wanted = evaluate(function(made), [data.numpy()]).value
            (got,) = dnnl.compile_region(function(made), "r")(data.numpy())
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.native
@pytest.mark.parametrize("rounding", ["TONEAREST", "TOEVEN"])
def test_quantize_rounds_halves_as_specified(rounding: str) -> None:
    halves = np.arange(-300, 300, dtype=np.float32) / 2
    data = np.concatenate([halves, np.nextafter(halves, 1e9), np.nextafter(halves, -1e9)])
    data = np.append(data, np.float32([np.inf, -np.inf, 3e38, -3e38]))
    wide = data.astype(np.float64)
    away = np.sign(wide) * np.floor(np.abs(wide) + 0.5)
    whole = np.rint(wide) if rounding == "TOEVEN" else away
    for dtype in ("int8", "int32"):
        attrs = {"out_dtype": dtype, "rounding": rounding}
        made = qnn.quantize(relay.var("r", shape=data.shape), number(1), zero(5), **attrs)
        wanted = np.clip(whole + 5, np.iinfo(dtype).min, np.iinfo(dtype).max)
        (got,) = dnnl.compile_region(function(made), "r")(data)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.native
@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST", "TOEVEN"])
def test_requantize_rounds_exact_halves_as_specified(rounding: str) -> None:
    """Ratios of a half and a quarter: every second or fourth number is exactly between two
    integers."""
    data = np.arange(-2000, 2000, dtype=np.int32)
    for ratio in (0.5, 0.25, 0.75):
        got = kernels.requantize(data, ratio, 0, 1.0, 0, rounding=rounding, dtype="int32")
        up = np.floor(data * ratio + 0.5)
        away = np.sign(data) * np.floor(np.abs(data) * ratio + 0.5)
        wanted = {"UPWARD": up, "TONEAREST": away, "TOEVEN": np.rint(data * ratio)}
        np.testing.assert_array_equal(got, wanted[rounding])


@pytest.mark.native
@pytest.mark.parametrize("scale", [0.5, 0.25, 1 / 3, 0.003, 0.0001, 2.0**-20, 0.9999999, 1.5])
def test_requantize_is_exact_near_halves(scale: float) -> None:
    """Fast arithmetic is used only where it is certain: each sum with a small result, and its
    neighbours."""
    x = np.concatenate([np.arange(-70_000, 70_000), np.linspace(-(2**31), 2**31 - 1, 9_999)])
    x = x.astype(np.int32).reshape(1, -1)
    var = relay.var("x", shape=x.shape, dtype="int32")
    expr = qnn.requantize(var, number(scale), zero(), number(1.0), zero(-3), out_dtype="int8")
    (got,) = dnnl.compile_region(function(expr), "r")(x)
    fraction, shift = np.frexp(np.float32(scale).astype(np.float64))
    multiplier, right = int(np.floor(fraction * 2**31 + 0.5)), int(31 - shift)
    exact = [((int(v) * multiplier + (1 << (right - 1))) >> right) - 3 for v in x[0]]
    np.testing.assert_array_equal(got[0], np.clip(exact, -128, 127))


@pytest.mark.native
def test_sums_beyond_float32_precision_are_exact() -> None:
    """512 * 3 * 3 products of 255 and 127: an odd number of 28 bits."""
    data = np.full((1, 512, 3, 3), 255, np.uint8)
    weight = np.full((16, 512, 3, 3), 127, np.int8)
    weight[:, 0, 0, 0] = np.arange(16)
    got = kernels.conv2d(data, weight)
    wanted = weight.reshape(16, -1).astype(np.int64).sum(1) * 255
    np.testing.assert_array_equal(got.ravel(), wanted)
    rows = kernels.dense(data.reshape(1, -1), weight.reshape(16, -1))
    np.testing.assert_array_equal(rows.ravel(), wanted)


@pytest.mark.native
def test_quantized_calls_with_operands_the_runtime_cannot_take_are_refused() -> None:
    data, weight = np.zeros((1, 4, 3, 3), np.uint8), np.zeros((4, 4, 1, 1), np.int8)
    for pair, message in (
        ((data, weight.astype(np.float32)), "weight: expected dtype int8.*found float32"),
        ((data.astype(np.float32), weight), "weight: expected dtype float32.*found int8"),
        ((data.astype(np.int32), weight), "data: expected dtype float32.*found int32"),
    ):
        with pytest.raises(TypeError, match=message):
            kernels.conv2d(*pair)
    with pytest.raises(ValueError, match="take no bias; give it to requantize"):
        kernels.conv2d(data, weight, np.zeros(4, np.int32))
    with pytest.raises(TypeError, match="dequantize it first"):
        kernels.conv2d(data, weight, post_ops=[{"kind": "eltwise", "alg": "relu"}])


@pytest.mark.native
def test_chain_legalized_by_tvm_is_one_composite_and_exact() -> None:
    """float32 after the product, then a cast, which truncates as Relay's does."""
    rng = np.random.default_rng(3)
    bias = relay.const(rng.standard_normal((8, 1, 1)).astype(np.float32) * 9)
    point = zero()  # the pattern needs one node for both, as TVM's does
    product = small_conv(input_zero_point=point, kernel_zero_point=point)
    real = relay.cast(product, dtype="float32") + bias
    real = relay.clip(real * number(2.0**-7), a_min=0, a_max=255) * number(0.5)
    other = relay.var("other", shape=(1, 8, 5, 5), dtype="uint8")
    real = real + number(0.25) * relay.cast(other, dtype="float32") + number(3)
    func = function(relay.cast(real, dtype="uint8"))
    merged = MergeComposite(dnnl.pattern_table())(infer_module(IRModule.from_expr(func)))
    assert 'Composite="dnnl.qnn.conv2d"' in str(merged)
    inputs = [integers(rng, "uint8", *p.checked_type.concrete_shape) for p in func.params]
    before, wanted = evaluate(function(real), inputs).value, evaluate(func, inputs).value
    (got,) = dnnl.compile_region(merged["main"], "r")(*inputs)
    assert got.dtype == np.uint8
    settled = np.abs(before - np.round(before)) > 1e-4  # otherwise float32 may give either result
    assert settled.mean() > 0.5 and before.min() >= 0 and before.max() < 256
    np.testing.assert_array_equal(got[settled], wanted[settled])
    assert np.abs(got.astype(int) - wanted).max() <= 1


@pytest.mark.native
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_cast_to_integers_truncates(dtype: str) -> None:
    """Positive and negative numbers are truncated towards zero."""
    limits = np.iinfo(dtype)
    ends = [max(limits.min, -(2**20)), min(limits.max, 2**20)]
    data = np.linspace(*ends, 1001, dtype=np.float32)
    data = np.append(data, np.float32([0.5, 0.999, 1.5, 2.5, 126.99]))
    func = function(relay.cast(relay.var("x", shape=data.shape), dtype=dtype))
    wanted = evaluate(func, [data]).value
    (got,) = dnnl.compile_region(func, "r")(data)
    np.testing.assert_array_equal(got, wanted)


def configured(rounding: str = "None") -> Function:
    """A change of scale and a sum, both with exact halves."""
    x, y = (relay.var(n, shape=(1000,), dtype="int32") for n in "xy")
    ends = (number(1), zero(3), number(4), zero(1))
    moved = qnn.requantize(x, *ends, rounding=rounding, out_dtype="int32")
    pairs = (number(1), zero(1), number(0.5), zero(2), number(2), zero(3))
    return function(qnn.add(moved, y, *pairs))


X32 = np.arange(-500, 500, dtype=np.int32)
Y32 = X32[::-1].copy() * 3


@pytest.mark.native
@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
@pytest.mark.parametrize("own", ["None", "UPWARD", "TONEAREST"])
def test_regions_round_as_configured(rounding: str, own: str) -> None:
    """As the reference does, and as TVM's lowering of the operators does (tests/parity compares
    its form with TVM)."""
    func = configured(own)
    with qnn.requantize_config(rounding=rounding):
        lowered = qnn_transform.CanonicalizeOps()(infer_module(IRModule.from_expr(func)))
        wanted = evaluate(func, [X32, Y32]).value
        region = dnnl.compile_region(func, "r")
    assert "qnn" not in str(lowered)
    np.testing.assert_array_equal(evaluate(lowered, [X32, Y32]).value, wanted)
    np.testing.assert_array_equal(region(X32, Y32)[0], wanted)
    if "TONEAREST" in (rounding, own):
        assert np.any(wanted != evaluate(configured("UPWARD"), [X32, Y32]).value)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_requantize_with_other_arithmetic_stays_on_the_host(dtype: str, rounding: str) -> None:
    """DNNL requantizes with integer arithmetic only."""
    func = configured()
    with qnn.requantize_config(rounding=rounding, compute_dtype=dtype):
        for call in (func.body, func.body.args[0]):
            assert isinstance(call, Call)
            assert f"compute_dtype 'int64', found '{dtype}'" in (why_not(call) or "")
        with pytest.raises(BuildError, match="changes of scale must have compute_dtype 'int64'"):
            dnnl.region_graph(func, "r")
        lowered = qnn_transform.CanonicalizeOps()(infer_module(IRModule.from_expr(func)))
        wanted = evaluate(func, [X32, Y32]).value
    np.testing.assert_array_equal(evaluate(lowered, [X32, Y32]).value, wanted)
    own = qnn.requantize(relay.var("x", shape=(3,), dtype="int32"), number(1), zero(), number(4),
                         zero(), compute_dtype=dtype, out_dtype="int8")  # fmt: skip
    assert f"found '{dtype}'" in (why_not(function(own).body) or "")  # type: ignore[arg-type]


def test_unsupported_quantized_calls_are_refused_with_the_reason() -> None:
    def typed(expr: Expr) -> Call:
        made = infer_expr(expr)
        assert isinstance(made, Call)
        return made

    assert why_not(typed(small_conv())) is None
    assert "zero point of the weight" in (
        why_not(typed(small_conv(kernel_zero_point=zero(1)))) or ""
    )
    point = relay.var("z", shape=(), dtype="int32")
    assert "must be a constant" in (why_not(typed(small_conv(input_zero_point=point))) or "")
    loose = relay.add(small_conv(), relay.const(np.zeros((8, 1, 1), np.int32)))
    with pytest.raises(BuildError, match="must be followed by qnn"):
        dnnl.region_graph(function(loose), "r")
    wraps = qnn.requantize(small_conv(), number(1), zero(), number(1), zero(), out_dtype="int32")
    with pytest.raises(BuildError, match=r"would wrap.*clip to the range"):
        dnnl.region_graph(function(relay.cast(wraps, dtype="uint8")), "r")
    with pytest.raises(BuildError, match="clip of integers must follow"):
        dnnl.region_graph(function(relay.clip(x8, a_min=1, a_max=2)), "r")


@pytest.mark.native
def test_integers_between_convolutions_are_not_converted() -> None:
    first = qnn.requantize(small_conv(), number(1), zero(), number(90), zero(3), out_dtype="uint8")
    weight = relay.const(integers(np.random.default_rng(1), "int8", 16, 8, 3, 3))
    second = qnn.conv2d(first, weight, zero(3), zero(), number(1), number(1), kernel_size=(3, 3),
                        channels=16, padding=(1, 1))  # fmt: skip
    out = nn.relu(qnn.dequantize(
        qnn.requantize(second, number(1), zero(), number(200), zero(9), out_dtype="int8"),
        number(0.1), zero(9),
    ))  # fmt: skip
    graph = check(out)
    kinds = [op["kind"] for op in graph["ops"]]
    assert kinds == ["conv2d", "requantize", "conv2d", "requantize", "dequantize"]
