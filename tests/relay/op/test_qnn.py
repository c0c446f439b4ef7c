"""Quantized operators against exact arithmetic with fractions, and against ONNX Runtime."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.errors import BuildError, EvaluationError, TypeInferenceError
from byoc_lab.relay import Constant, IRModule
from byoc_lab.relay.op.qnn.math import fixed_point
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from tests.relay.op.onnx_runs import run, run_onnx

few = settings(max_examples=30)
scales = st.floats(0.0009765625, 8, width=32)
zeros = st.integers(-20, 20)


def f32(*values: float) -> Constant:
    return relay.const(np.float32(values[0] if len(values) == 1 else values))


def i32(*values: int) -> Constant:
    return relay.const(np.int32(values[0] if len(values) == 1 else values))


def integers(*shape: int, dtype: str = "int8", seed: int = 0) -> np.ndarray:
    limits = np.iinfo(dtype)
    random = np.random.default_rng(seed)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def nearest(value: Fraction, rounding: str) -> int:
    """Halves up with UPWARD, away from zero with TONEAREST."""
    if rounding == "TONEAREST" and value < 0:
        return ceil(value - Fraction(1, 2))
    return floor(value + Fraction(1, 2))


def saturated(value: int, dtype: str) -> int:
    return min(max(value, np.iinfo(dtype).min), np.iinfo(dtype).max)


@few
@given(scales, scales)
def test_multiplier_is_within_half_a_unit_of_the_ratio(a: float, b: float) -> None:
    ratio = Fraction(a) / Fraction(b)
    multiplier, shift = fixed_point(np.float64(a) / np.float64(b))
    unit = Fraction(2) ** (int(shift) - 31)
    assert 2**30 <= int(multiplier) < 2**31
    # The quotient is a float64, exact to 53 bits.
    assert abs(int(multiplier) * unit - ratio) <= unit * Fraction(501, 1000)


@few
@given(scales, scales, zeros, zeros, st.sampled_from(["UPWARD", "TONEAREST"]), st.booleans())
def test_requantize_rounds_the_exact_product(a, b, zero, out_zero, rounding, unsigned) -> None:
    x = integers(50, dtype="int16").astype(np.int32)
    dtype = "uint8" if unsigned else "int8"
    found = run(
        lambda v: qnn.requantize(
            v, f32(a), i32(zero), f32(b), i32(out_zero), rounding=rounding, out_dtype=dtype
        ),
        x,
    )
    multiplier, shift = fixed_point(np.float64(np.float32(a)) / np.float64(np.float32(b)))
    factor = Fraction(int(multiplier)) * Fraction(2) ** (int(shift) - 31)
    if np.float32(a) == np.float32(b):
        factor = Fraction(1)
    wanted = [saturated(nearest((int(v) - zero) * factor, rounding) + out_zero, dtype) for v in x]
    assert found.tolist() == wanted


def test_halves_are_where_the_two_roundings_differ() -> None:
    x = np.array([-3, -1, 1, 3], np.int32)

    def halved(rounding: str) -> list[int]:
        args = (f32(0.5), i32(0), f32(1.0), i32(0))
        return run(lambda v: qnn.requantize(v, *args, rounding=rounding), x).tolist()

    assert halved("UPWARD") == [-1, 0, 1, 2] == halved("None")
    assert halved("TONEAREST") == [-2, -1, 1, 2]


def test_quantize_rounds_halves_away_from_zero_and_saturates() -> None:
    x = np.array([-200, -1.25, -0.75, 0, 0.25, 0.75, 200, np.inf, -1e30], np.float32)
    found = run(lambda v: qnn.quantize(v, f32(0.5), i32(1)), x)
    assert found.tolist() == [-128, -2, -1, 1, 2, 3, 127, 127, -128]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_dequantize_is_that_of_onnx_runtime(dtype) -> None:
    x = integers(2, 3, 4, dtype=dtype)
    scale, zero = np.array([0.1, 0.02, 0.3], np.float32), np.array([3, 0, 5])
    found = run(lambda v: qnn.dequantize(v, f32(*scale), i32(*zero), axis=1), x)
    wanted = run_onnx("DequantizeLinear", x, scale, zero.astype(dtype), axis=1)
    np.testing.assert_array_equal(found, wanted)


@few
@given(zeros, zeros, st.sampled_from(["NCHW", "NHWC"]), st.sampled_from([1, 2]))
def test_convolution_is_that_of_onnx_runtime(zero, kernel_zero, layout, groups) -> None:
    x, w = integers(1, 4, 5, 6), integers(6, 4 // groups, 3, 3, seed=1)
    wanted = run_onnx(
        "ConvInteger",
        (x.astype(np.int32) + 128).astype(np.uint8),  # ONNX Runtime wants unsigned data
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


@few
@given(st.sampled_from(["add", "subtract", "mul"]), st.lists(scales, min_size=3, max_size=3))
def test_arithmetic_is_that_of_the_real_numbers(name, chosen) -> None:
    """Off by one unit at most for each operand that is rounded."""
    a, b = integers(4, 1), integers(1, 5, seed=1)
    (sa, sb, so), (za, zb, zo) = chosen, (3, -5, 7)
    args = [part for s, z in ((sa, za), (sb, zb), (so, zo)) for part in (f32(s), i32(z))]
    found = run(lambda x, y: getattr(qnn, name)(x, y, *args), a, b)
    function = {"add": np.add, "subtract": np.subtract, "mul": np.multiply}[name]
    real = function(sa * (a.astype(np.float64) - za), sb * (b.astype(np.float64) - zb))
    wanted = np.clip(real / so + zo, -128, 127)
    assert found.shape == (4, 5) and found.dtype == np.int8
    assert np.abs(found - wanted).max() <= 1.001


def test_concatenate_brings_all_to_one_scale() -> None:
    a, b = np.array([[10, 20]], np.int8), np.array([[10, 20, 127]], np.int8)
    pairs = [f32(0.5), f32(1.0)], [i32(0), i32(10)]
    found = run(lambda x, y: qnn.concatenate([x, y], *pairs, f32(0.5), i32(0), 1), a, b)
    assert found.tolist() == [[10, 20, 0, 20, 127]]


def typed(call: relay.Expr) -> str:
    function = relay.Function(relay.analysis.free_vars(call), call)
    return str(infer_module(IRModule.from_expr(function))["main"].ret_type)


q = relay.var("q", shape=(1, 4, 8, 8), dtype="int8")
w = relay.var("w", shape=(6, 4, 3, 3), dtype="int8")
f = relay.var("f", shape=(2, 3))
REFUSED = [
    (lambda: qnn.quantize(q, f32(1.0), i32(0)), "data must be of float32, found int8"),
    (lambda: qnn.quantize(f, f32(1.0), i32(0), out_dtype="float32"), "result must be of int8"),
    (lambda: qnn.quantize(f, f32(1.0, 2.0), i32(0)), "scalar or a vector of 3, found"),
    (lambda: qnn.quantize(f, f32(1.0), f32(0.0)), "output_zero_point must be of int32"),
    (lambda: qnn.dequantize(f, f32(1.0), i32(0)), "data must be of int8.*found float32"),
    (
        lambda: qnn.requantize(q, f32(1.0), i32(0), f32(1.0, 2.0), i32(0)),
        "output_scale must be a scalar",
    ),
    (
        lambda: qnn.requantize(q, f32(1.0), i32(0), f32(1.0), i32(0), rounding="DOWN"),
        "rounding must be one of None, UPWARD, TONEAREST, found 'DOWN'",
    ),
    (
        lambda: qnn.conv2d(q, w, i32(0), i32(0), f32(1.0), f32(1.0, 2.0), (3, 3), 6),
        "kernel_scale must be a scalar or a vector of 6",
    ),
    (
        lambda: qnn.conv2d(q, w, i32(0), i32(0), f32(1.0), f32(1.0), (3, 3), 8),
        "qnn.conv2d: weight must have channels=8 outputs, found 6",
    ),
    (
        lambda: qnn.add(q, f, *[f32(1.0), i32(0)] * 3),
        "lhs and rhs must have one dtype",
    ),
    (
        lambda: qnn.concatenate([q, q], [f32(1.0)], [i32(0), i32(0)], f32(1.0), i32(0), 1),
        "input_scales must be a tuple of 2 scalars",
    ),
]


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refusal_says_what_is_wrong(build, message) -> None:
    with pytest.raises(TypeInferenceError, match=f"(?s){message}"):
        typed(build())


def test_mul_with_a_vector_of_scales_computes_each_channel_with_its_own() -> None:
    data = integers(1, 4, 8, 3)
    scales = (0.5, 0.25, 0.03)

    def product(x: relay.Var, *scale: float) -> relay.Expr:
        rest = [i32(1), f32(1.0), i32(0), f32(0.7), i32(2)]
        return qnn.mul(x, x, f32(*scale), *rest, lhs_axis=-1)

    x = relay.var("x", shape=(1, 4, 8, 3), dtype="int8")
    whole = evaluate(relay.Function([x], product(x, *scales)), [data]).value
    for n, scale in enumerate(scales):
        alone = evaluate(relay.Function([x], product(x, scale)), [data]).value
        np.testing.assert_array_equal(whole[..., n], alone[..., n])


def test_mul_with_scales_along_two_axes_is_not_computed() -> None:
    args = [f32(*[0.5] * 4), i32(0), f32(*[1.0] * 8), i32(0), f32(1.0), i32(0)]
    function = relay.Function([q], qnn.mul(q, q, *args, lhs_axis=1, rhs_axis=2))
    with pytest.raises(EvaluationError, match="share an axis, found lhs_axis=1 and rhs_axis=2"):
        evaluate(function, [integers(1, 4, 8, 8)])


def test_scales_that_are_no_constants_cannot_be_built() -> None:
    pytest.importorskip("tvm")
    from byoc_lab.run.to_relax import to_relax

    scale = relay.var("scale", shape=(), dtype="float32")
    function = relay.Function([f, scale], qnn.quantize(f, scale, i32(0)))
    main = infer_module(IRModule.from_expr(function))["main"]
    with pytest.raises(BuildError, match="output_scale must be a constant"):
        to_relax(main)
