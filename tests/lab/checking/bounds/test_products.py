"""Sums of products: kernels that start the sum with a bias or a residual stay within the
tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.lab.checking.comparison import compare
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run import evaluate
from tests.sweeps import some

SIZES = st.sampled_from([0.0, 0.1, 1.0, 10.0, 1000.0])


def random(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def typed(expr: Expr) -> Function:
    made = infer_expr(Function(free_vars(expr), expr))
    assert isinstance(made, Function)
    return made


def share(function: Function, inputs: list[np.ndarray], got: Any) -> float:
    known = dict(zip(function.params, inputs, strict=True))
    wanted = bounded(function, known, exact_constants=True)
    return compare("x", got, wanted.outputs[0], wanted.tolerances[0]).share


@pytest.mark.native
@given(st.sampled_from([1, 8]), st.sampled_from([1, 3, 5]), SIZES, SIZES, st.integers(0, 99))
@settings(max_examples=some(25))
def test_convolution_with_bias_and_residual_is_within_its_bound(
    channels: int, kernel: int, bias: float, residual: float, seed: int
) -> None:
    """channels: the number of input channels of each of the 8 output channels; 1 for a depthwise
    convolution."""
    x, r = relay.var("x", shape=(1, 8, 9, 9)), relay.var("r", shape=(1, 8, 9, 9))
    w = relay.const(random(8, channels, kernel, kernel, seed=seed) / np.float32(kernel))
    conv = nn.conv2d(x, w, padding=kernel // 2, groups=8 // channels)
    biased = relay.add(conv, relay.const(random(8, 1, 1, seed=seed + 1) * np.float32(bias)))
    expr = nn.relu(relay.add(biased, r)) if residual else nn.relu(biased)
    inputs = [random(1, 8, 9, 9, seed=seed + 2)]
    if residual:
        inputs.append(random(1, 8, 9, 9, seed=seed + 3) * np.float32(residual))
    function = typed(expr)
    (got,) = dnnl.compile_region(function, "r")(*inputs)
    assert share(function, inputs, got) < 0.7


@given(st.integers(1, 400), SIZES, st.sampled_from(["add", "nn.bias_add", "nn.batch_norm"]),
       st.integers(0, 99))  # fmt: skip
@settings(max_examples=some(40))
def test_sum_that_starts_with_the_bias_is_within_the_tolerance(
    depth: int, size: float, name: str, seed: int
) -> None:
    """The kernel adds each product to the bias in turn, in float32."""
    x = relay.var("x", shape=(4, depth))
    w = random(6, depth, seed=seed)
    begin = random(6, seed=seed + 1) * np.float32(size)
    dense, vector = nn.dense(x, relay.const(w)), relay.const(begin)
    if name == "nn.batch_norm":
        one, zero = relay.const(np.ones(6, "float32")), relay.const(np.zeros(6, "float32"))
        expr = nn.batch_norm(dense, one, vector, zero, one, epsilon=0.0)[0]
    else:
        expr = relay.add(dense, vector) if name == "add" else nn.bias_add(dense, vector)
    given_x = random(4, depth, seed=seed + 2)
    total = np.broadcast_to(begin, (4, 6)).astype(np.float32)
    for k in range(depth):
        total = total + given_x[:, k : k + 1] * w[:, k]
    assert share(typed(expr), [given_x], total) < 0.7


@pytest.mark.parametrize("op", ["nn.conv1d", "nn.conv3d", "nn.conv2d_transpose"])
def test_convolution_has_smaller_bounds_for_smaller_elements(op: str) -> None:
    """The convolution is computed by NumPy in float32; the tolerance is small for elements with
    small data."""
    rank = int(op[7])
    data = random(1, 4, *(8,) * rank, seed=1)
    data[..., :4] *= np.float32(1e-6)
    x = relay.var("x", shape=data.shape)
    w = relay.const(random(4, 4, *(3,) * rank, seed=2))
    function = typed(getattr(nn, op.removeprefix("nn."))(x, w))
    (got,) = evaluate(function, [data]).outputs
    assert share(function, [data], got) < 0.7
    known = bounded(function, {function.params[0]: data}, exact_constants=True)
    small = known.tolerances[0][..., 0].max()
    assert 0 < small < 1e-5 * known.tolerances[0].max()


@pytest.mark.native
def test_squeeze_and_excitation_blocks_are_within_the_tolerance() -> None:
    """A depthwise convolution whose bias is larger than its products, after a multiplication."""
    x, s = relay.var("x", shape=(1, 48, 8, 8)), relay.var("s", shape=(1, 48, 1, 1))
    scaled = x * (relay.clip(s + relay.const(np.float32(3)), 0, 6) / relay.const(np.float32(6)))
    w = relay.const(random(48, 1, 5, 5, seed=3) * np.float32(0.05))
    vectors = [relay.const(np.abs(random(48, seed=n)) + np.float32(0.5)) for n in (4, 5, 6, 7)]
    y = nn.batch_norm(nn.conv2d(scaled, w, padding=2, groups=48), *vectors)[0]
    y = y * (relay.clip(y + relay.const(np.float32(3)), 0, 6) / relay.const(np.float32(6)))
    mod = infer_module(IRModule.from_expr(Function([x, s], y)))
    for seed in range(3):
        report = byoc_lab.validate(mod, dnnl.partition_for_dnnl(mod), seed=seed)
        assert report.ok and max(c.share for c in report.comparisons) < 0.7, str(report)
