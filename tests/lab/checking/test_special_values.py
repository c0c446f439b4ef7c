"""Special values: infinities, nan, overflow, ties, two scales, and exact arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.checking.comparison import compare
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.checking.tolerances import Bounded, bounded
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run import build, evaluate

q = relay.qnn.op
ON = [pytest.param("dnnl", marks=pytest.mark.native), "llvm"]


def const(value: Any, dtype: str = "float32") -> relay.Constant:
    return relay.const(np.asarray(value, dtype))


def bounds(expr: Expr, *inputs: Any) -> Bounded:
    function = infer_expr(Function(free_vars(expr), expr))
    assert isinstance(function, Function)
    known = dict(zip(function.params, map(np.asarray, inputs), strict=True))
    return bounded(function, known, exact_constants=True)


def tolerance(expr: Expr, *inputs: Any) -> np.ndarray:
    return bounds(expr, *inputs).tolerances[0]


def report(expr: Expr, inputs: list[Any], on: str) -> Report:
    mod = infer_module(IRModule.from_expr(Function(free_vars(expr), expr)))
    after = byoc_lab.trace(mod, "dnnl").result if on == "dnnl" else mod
    exe = build(after)
    assert bool(exe.linked) == (on == "dnnl")
    return byoc_lab.validate(mod, exe, inputs)


# Exact arithmetic has tolerance zero
# -------------------------------------------------------------


def test_copies_and_integer_arithmetic_have_tolerance_zero() -> None:
    x = relay.var("x", shape=(2, 4))
    values = np.float32([[0.1, -2, 3, 1e30], [1, 5, 1e-3, 7]])
    for copied in (
        relay.transpose(x),
        relay.reshape(x, (8,)),
        nn.relu(x),
        relay.max(x, axis=1),
        relay.concatenate([x, x], axis=0),
        relay.strided_slice(x, [0, 1], [2, 3]),
        relay.negative(relay.abs(x)),
        relay.floor(relay.clip(x, -8.0, 8.0)),
        relay.argmax(x, axis=1),
        x * const(0.25),
        relay.cast(relay.cast(relay.clip(x, -8.0, 8.0), "int8"), "float32"),
    ):
        assert not np.any(tolerance(copied, values)), str(copied)
    n = relay.var("n", shape=(3,), dtype="int32")
    product = nn.dense(relay.expand_dims(n, 0), const([[1, 2, 3]], "int32"))
    assert not np.any(tolerance(relay.add(product, const(7, "int32")), np.int32([1, -9, 4])))


def test_quantize_with_exact_numbers_has_tolerance_zero() -> None:
    """The scale of a quantization is the same number in every pass and kernel.

    With a scale of 0.1 in float32, 0.25 is 2.4999999627 steps, and not a tie.
    """
    x = relay.var("x", shape=(4,))
    quantized = q.quantize(x, const(0.1), const(3, "int32"), out_dtype="int8")
    assert not np.any(tolerance(quantized, np.float32([0.24, 0.1, 3, -1])))
    n = relay.var("n", shape=(2,), dtype="int8")
    real = tolerance(q.dequantize(n, const(0.1), const(3, "int32")), np.int8([3, 100]))
    assert real[0] == 0 and 0 < real[1] < 1e-5


# Steps from float to integer ----------------------------------------------------------------------


def test_quantize_may_differ_by_one_only_at_a_tie() -> None:
    x = relay.var("x", shape=(5,))
    quantized = q.quantize(x, const(0.1), const(0, "int32"), out_dtype="int8")
    tie = np.float32(0.1) * np.float32(2.5)
    found = tolerance(quantized, np.float32([tie, tie + 1e-4, tie - 1e-4, 0.2, 50]))
    assert found.tolist() == [1, 0, 0, 0, 0]  # the last element saturates


def test_rounding_error_before_a_tie_widens_the_tolerance_only_near_the_tie() -> None:
    """exp rounds, so a value within its error of a tie may be rounded up or down, also by a
    cast."""
    x = relay.var("x", shape=(3,))
    near = np.log(np.float64([2.5, 2.6, 2.4])).astype(np.float32)
    quantized = q.quantize(relay.exp(x), const(1.0), const(0, "int32"), out_dtype="int8")
    assert tolerance(quantized, near).tolist() == [1, 0, 0]
    whole = np.log(np.float64([3, 3.1, 2.9])).astype(np.float32)
    assert tolerance(relay.cast(relay.exp(x), "int32"), whole).tolist() == [1, 0, 0]


def test_argmax_near_a_tie_has_the_distance_as_tolerance() -> None:
    x = relay.var("x", shape=(3, 4))
    rows = np.log(np.float64([[1, 5, 2, 5 * (1 + 1e-9)], [1, 5, 2, 4.9], [3, 3, 1, 1]]))
    found = tolerance(relay.argmax(relay.exp(x), axis=1), rows.astype(np.float32))
    assert found.tolist() == [2, 0, 1]
    assert not np.any(tolerance(relay.argmax(x, axis=1), rows.astype(np.float32)))


# Infinities, overflow and underflow ---------------------------------------------------------------


@pytest.mark.parametrize("on", ON)
def test_softmax_of_minus_infinity_is_valid(on: str) -> None:
    x = relay.var("x", shape=(3, 4))
    scores = np.float32([[-np.inf, 0, 1, 2], [-np.inf, -np.inf, -np.inf, 5], [1, 2, 3, 4]])
    found = tolerance(nn.softmax(x), scores)
    assert not np.any(np.isnan(found)) and np.all(found < 1e-5)
    assert report(nn.softmax(x), [scores], on).ok


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("name", ["exp", "sigmoid", "tanh"])
def test_only_results_near_overflow_and_underflow_have_wide_tolerances(name: str, on: str) -> None:
    """Reference and build may be infinite or flush to zero there; other values keep small
    tolerances."""
    x = relay.var("x", shape=(12,))
    values = np.float32([88.7, 88.8, 89, 200, -86, -87.4, -103, -104, -200, 0, 1e-40, 1])
    call = {"exp": relay.exp, "sigmoid": relay.sigmoid, "tanh": relay.tanh}[name](x)
    assert report(call, [values], on).ok
    found = bounds(call, values)
    assert not np.any(np.isnan(found.tolerances[0]))
    with np.errstate(over="ignore"):
        wrong = (found.outputs[0] * (1 + 1e-4)).astype(np.float32)
    share = compare("x", wrong, found.outputs[0], found.tolerances[0]).shares
    assert share is not None and share[9 if name != "tanh" else 11] > 1


@pytest.mark.parametrize("on", ON)
def test_infinity_in_only_one_of_two_results_is_reported(on: str) -> None:
    x = relay.var("x", shape=(4,))
    values = np.float32([np.inf, -np.inf, 0, 2])
    assert report(relay.add(x, const([1, 2, 3, 4])), [values], on).ok
    found = compare("x", np.float32([np.inf, 1]), np.float64([1, 1]), 1e-3)
    assert not found.ok and found.infinities == 1 and "infinity in only one" in found.verdict


# nan ----------------------------------------------------------------------------------------------


def test_nan_in_only_one_result_is_reported_with_the_other_errors() -> None:
    wanted = np.arange(6, dtype=np.float64)
    got = wanted.astype(np.float32)
    got[1], got[4] = np.nan, 4.5
    found = compare("x", got, wanted, 1e-3)
    assert not found.ok and (found.nans, found.wrong, found.place) == (1, 2, (1,))
    assert found.largest_error >= 0.5 and "nan in only one of the two: 1" in found.verdict
    both = compare("x", np.float32([np.nan, 1]), np.float64([np.nan, 1.5]), 1e-3)
    assert not both.ok and both.place == (1,) and both.nans == 0


NAN = [np.nan, -1, 2, np.nan]


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nn.relu", "nn.relu(nan) is 0 on DNNL and in code of LLVM"),
        ("exp", "exp(nan) is inf on DNNL, a fault of oneDNN"),
    ],
)
def test_lost_nan_is_reported_with_the_operator_that_loses_it(name: str, why: str) -> None:
    x = relay.var("x", shape=(4,))
    call = relay.op.builder(relay.op.Op.get(name))(x)
    found = report(call, [np.float32(NAN)], "dnnl")
    assert found.ok and found.regions[0].lost_nans == 2
    assert f"2 elements not compared ({why})" in found.regions[0].verdict


@pytest.mark.native
@pytest.mark.parametrize("name", ["tanh", "log", "sqrt", "abs", "round"])
def test_operators_that_keep_nan_are_compared(name: str) -> None:
    x = relay.var("x", shape=(4,))
    call = relay.op.builder(relay.op.Op.get(name))(x)
    found = report(call, [np.float32(NAN)], "dnnl")
    assert found.ok and not found.regions[0].undecided and not found.regions[0].causes


@pytest.mark.native
def test_softmax_and_pooling_that_lose_nan_are_named() -> None:
    x = relay.var("x", shape=(2, 4))
    rows = np.float32([[np.nan, 1, 2, 3], [4, 3, 2, 1]])
    said = report(nn.softmax(x), [rows], "dnnl").regions[0]
    assert said.ok and said.undecided == 4 and "nn.softmax of a row with nan" in said.verdict
    y = relay.var("y", shape=(1, 8, 4, 4))  # a block of channels, which oneDNN pools
    least = np.zeros((1, 8, 4, 4), np.float32)
    least[:, 0, :2, :2], least[:, 0, 2:, :2] = -np.inf, np.nan
    said = report(nn.max_pool2d(y, (2, 2), (2, 2)), [least], "dnnl").regions[0]
    assert said.ok and said.undecided == 2 and said.lost_nans == 1
    words = (
        "may pass over nan on DNNL and in code of LLVM, and returns -3.4e38 for nan or -inf alone"
    )
    assert f"nn.max_pool2d {words} on DNNL, a fault of oneDNN" in said.verdict


def test_host_pooling_that_loses_nan_names_llvm() -> None:
    pytest.importorskip("tvm")
    data = np.zeros((1, 1, 4, 4), np.float32)
    data[0, 0, 0, 0] = np.nan
    said = report(nn.max_pool2d(relay.var("y", shape=data.shape), (2, 2), (2, 2)), [data], "llvm")
    assert said.ok and "pass over nan on DNNL and in code of LLVM" in said.outputs[0].verdict


@pytest.mark.parametrize("on", ON)
def test_log_of_denormal_numbers_is_named_as_the_cause(on: str) -> None:
    x = relay.var("x", shape=(4,))
    found = report(relay.log(relay.abs(x)) * const(2.0), [np.float32([1e-40, 1, -2, 0])], on)
    told = "1 element not compared (log of denormal numbers, which DNNL flushes: its log(1e-40) is"
    assert found.ok and told in found.outputs[0].verdict
    assert "nan" not in found.outputs[0].verdict and "overflow" not in found.outputs[0].verdict


def test_denormal_element_does_not_widen_other_tolerances() -> None:
    """sqrt of a denormal number is 0 or right; a nan beside one is still compared."""
    x = relay.var("x", shape=(3,))
    values = np.float32([1e-40, np.nan, 4])
    found = bounds(relay.sqrt(x), values)
    assert found.causes == (frozenset(),) and 0 < found.tolerances[0][0] < 1e-18
    for call in (x * const(2.5), relay.sqrt(x), relay.tanh(x)):
        known = bounds(call, values)
        lost = np.float32([0, 7, known.outputs[0][2]])
        assert compare("x", lost, known.outputs[0], known.tolerances[0]).nans == 1


def test_cause_is_named_at_its_operator_and_in_dependent_results() -> None:
    x = relay.var("x", shape=(2,))
    for expr, values, causes in [
        (relay.exp(x), [100, 1], {"overflow of a value or of a partial sum"}),
        (relay.exp(x) + const(1.0), [100, 1], {"overflow of a value or of a partial sum"}),
        (
            relay.cast(x, "int8"),
            [np.nan, 1],
            {"an integer converted from nan, or from a number beyond its"},
        ),
        (relay.log(x), [1, 2], set()),
    ]:
        (found,) = bounds(expr, np.float32(values)).causes
        assert len(found) == len(causes), str(expr)
        assert all(any(why.startswith(c) for why in found) for c in causes), str(expr)


def test_nan_from_arithmetic_must_agree() -> None:
    """Only operators that order their operands may lose nan."""
    x = relay.var("x", shape=(2,))
    found = bounds(relay.add(x, const([1, 1])), np.float32([np.nan, 1]))
    lost = compare("x", np.float32([0, 2]), found.outputs[0], found.tolerances[0])
    assert not lost.ok and lost.nans == 1


# The host's tanh; two scales ----------------------------------------------------------------------


def test_tanh_of_the_host_is_within_a_tight_tolerance() -> None:
    """The error of tanh near 0 is u, not u * |x|; a tight tolerance covers it."""
    values = np.concatenate([np.linspace(-9, 9, 4001), np.geomspace(1e-8, 1, 4000)])
    x = relay.var("x", shape=values.shape)
    found = report(relay.tanh(x), [values.astype(np.float32)], "llvm")
    assert found.ok and 0.1 < found.outputs[0].share < 0.9


@pytest.mark.parametrize("on", ON)
def test_output_with_values_of_two_magnitudes_is_valid(on: str) -> None:
    """One array holds coordinates of up to 600 and scores below 1."""
    boxes, scores = relay.var("boxes", shape=(5, 4)), relay.var("scores", shape=(5, 2))
    joined = relay.concatenate([boxes * const(600.0), nn.softmax(scores)], axis=1)
    draw = np.random.default_rng(0)
    inputs = [draw.random((5, 4), dtype=np.float32), draw.random((5, 2), dtype=np.float32)]
    mod = infer_module(IRModule.from_expr(Function([boxes, scores], joined)))
    after = byoc_lab.trace(mod, "dnnl").result if on == "dnnl" else mod
    assert byoc_lab.validate(mod, build(after), inputs).ok
    known = bounded(mod["main"], dict(zip(mod["main"].params, inputs, strict=True)))
    tolerances = known.tolerances[0]
    assert tolerances[:, 4:].max() < 1e-5 < 1e-4 < tolerances[:, :4].max()
    off = known.outputs[0].copy()
    off[2, 5] += 5e-5  # smaller than the tolerance of a coordinate
    found = compare("x", off.astype(np.float32), known.outputs[0], tolerances)
    assert not found.ok and found.place == (2, 5)


@pytest.mark.parametrize("name", ["sin", "cos", "atan", "power", "sinh"])
def test_operators_without_a_rule_have_a_tolerance_per_element(name: str) -> None:
    """A small result has a small tolerance, even if another result is large."""
    values = np.float32([1e-4, 0.1, 1, 3, 7, 8.5])
    x = relay.var("x", shape=values.shape)
    makers = {"power": lambda: relay.power(x, const(2.5))}
    call = makers[name]() if name in makers else relay.op.builder(relay.op.Op.get(name))(x)
    found = bounds(call, values)
    function = infer_expr(Function([x], call))
    (got,) = evaluate(function, [values]).outputs  # type: ignore[arg-type]
    assert compare("x", got, found.outputs[0], found.tolerances[0]).share < 0.7
    size = np.abs(found.outputs[0])
    assert np.all(found.tolerances[0] < 1e-5 * np.maximum(size, values))
