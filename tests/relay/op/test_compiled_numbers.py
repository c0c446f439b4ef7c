"""Compiled code rounds and sums as the NumPy reference does, and as TVM 0.16 does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay import Function, IRModule
from byoc_lab.relay.qnn.transform import CanonicalizeOps
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import FakeQuantizationToInteger, InferType
from tests.parity.facts.values import tvm_values

HALVES = np.array([0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, 0.49999997, 8388609.0], "float32")
LIMITED = HALVES[:-1]  # in the range of int8
ONE, ZERO = relay.const(1.0), relay.const(0)


def _quantized(x: Any) -> Any:
    return relay.qnn.op.quantize(x, ONE, ZERO)


def _moved(x: Any) -> Any:
    """Numbers with a fraction of one half, rounded to integers."""
    halved = relay.qnn.op.quantize(x, relay.const(0.5), ZERO)
    half, one = relay.const(0.5), ONE
    return relay.qnn.op.requantize(halved, half, ZERO, one, ZERO, rounding="TONEAREST")


def _faked(x: Any) -> Any:
    """Fake quantization: dequantize, an operator, quantize."""
    real = relay.qnn.op.dequantize(relay.qnn.op.quantize(x, relay.const(0.5), ZERO), ONE, ZERO)
    return relay.qnn.op.quantize(relay.nn.relu(real), relay.const(2.0), ZERO)


def _resized(x: Any) -> Any:
    return relay.image.resize1d(
        relay.reshape(x, (1, 1, 8)),
        size=(15,),
        method="nearest_neighbor",
        coordinate_transformation_mode="align_corners",
    )


ROUNDED: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "round": (relay.round, HALVES),
    "round-float64": (relay.round, HALVES.astype("float64")),
    "round-float16": (relay.round, LIMITED.astype("float16")),
    "round-not-finite": (relay.round, np.array([np.inf, -np.inf, np.nan, 1e30], "float32")),
    "quantize": (_quantized, LIMITED),
    "requantize": (_moved, LIMITED),
    "resize": (_resized, LIMITED),
    "fake-quantized": (_faked, LIMITED),
}


def _function(build: Callable[[Any], Any], data: np.ndarray) -> Function:
    x = relay.var("x", shape=data.shape, dtype=data.dtype.name)
    return Function([x], build(x))


def _compiled(mod: IRModule, data: np.ndarray) -> np.ndarray:
    pytest.importorskip("tvm")
    return byoc_lab.build(mod)(data)[0]


@pytest.mark.parametrize("name", ROUNDED)
def test_halves_are_rounded_away_from_zero(name: str) -> None:
    build, data = ROUNDED[name]
    function = _function(build, data)
    wanted = evaluate(function, [data]).outputs[0]
    np.testing.assert_array_equal(_compiled(IRModule.from_expr(function), data), wanted)


def test_round_equals_c_s_round() -> None:
    wanted = np.array([1, 2, 3, 4, -1, -2, -3, 0, 8388609], "float32")
    found = _compiled(IRModule.from_expr(_function(relay.round, HALVES)), HALVES)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("lower", [CanonicalizeOps(), FakeQuantizationToInteger()], ids=str)
@pytest.mark.parametrize("name", ["quantize", "requantize", "fake-quantized"])
def test_lowered_operator_rounds_like_the_reference(name: str, lower: Any) -> None:
    build, data = ROUNDED[name]
    lowered = lower(InferType()(IRModule.from_expr(_function(build, data))))
    wanted = evaluate(lowered["main"], [data]).outputs[0]
    np.testing.assert_array_equal(_compiled(lowered, data), wanted)


SUMMED: dict[str, Callable[[Any], Any]] = {
    "mean": relay.mean,
    "variance": relay.variance,
    "std": relay.std,
    "mean-axis": lambda x: relay.mean(x, axis=1),
    "variance-axis": lambda x: relay.variance(x, axis=0, unbiased=True),
}
# Their sums overflow float16, while mean and variance are in range.
LARGE = np.random.default_rng(0).uniform(0, 100, (128, 128)).astype("float16")
EVEN = np.full((128, 128), 0.5, "float16")


@pytest.mark.parametrize("data", [EVEN, LARGE], ids=["even", "large"])
@pytest.mark.parametrize("name", SUMMED)
def test_means_of_float16_are_computed_in_float32(name: str, data: np.ndarray) -> None:
    function = _function(SUMMED[name], data)
    exact = evaluate(_function(SUMMED[name], data.astype("float32")), [data.astype("float32")])
    found = _compiled(IRModule.from_expr(function), data)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, exact.outputs[0], rtol=2e-3)
    np.testing.assert_allclose(found, evaluate(function, [data]).outputs[0], rtol=2e-3)


@pytest.mark.parametrize(
    "compared",
    [relay.equal, relay.not_equal, relay.less, relay.less_equal],
    ids=lambda f: f.__name__,
)
def test_nan_differs_from_every_number(compared: Callable[..., Any]) -> None:
    """Also if the comparison is used at once, or negated."""
    data = np.array([np.nan, 1, -0.0, np.inf], "float32")

    def chosen(x: Any) -> Any:
        return relay.where(compared(x, relay.reverse(x, 0)), x, ONE)

    def opposite(x: Any) -> Any:
        return relay.logical_not(compared(x, x))

    for build in (chosen, opposite):
        function = _function(build, data)
        wanted = evaluate(function, [data]).outputs[0]
        np.testing.assert_array_equal(_compiled(IRModule.from_expr(function), data), wanted)


@pytest.mark.slow
@pytest.mark.oracle
def test_tvm_computes_the_same_result() -> None:
    kept = {name: ROUNDED[name] for name in ROUNDED if name != "fake-quantized"}
    calls = {name: (_function(build, data), data) for name, (build, data) in kept.items()}
    calls |= {name: (_function(build, LARGE), LARGE) for name, build in SUMMED.items()}
    asked = [(IRModule.from_expr(f).astext(for_tvm=True), [data]) for f, data in calls.values()]
    for (name, (function, data)), found in zip(calls.items(), tvm_values(asked), strict=True):
        assert not isinstance(found, str), (name, found)
        wanted = evaluate(function, [data]).outputs[0]
        np.testing.assert_allclose(found[0], wanted, rtol=2e-3 if name in SUMMED else 0)
