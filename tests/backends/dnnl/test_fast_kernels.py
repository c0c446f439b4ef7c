"""No call that DNNL accepts runs on oneDNN's plain loops, which are tens of times slower than its
kernels and than LLVM's code.

The names of the kernels show it, on any instruction set; `benchmarks/fallbacks.py` measures the
same calls.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import kernels
from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.metering.op_cards import OpCard
from byoc_lab.transform import InferType
from tests.backends.dnnl import forms

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("processes_without_torch")]


ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", forms.FORMS)
def test_no_accepted_form_runs_on_plain_loops(name: str) -> None:
    assert not forms.plain_loops(name)


@pytest.mark.slow
@pytest.mark.parametrize("instructions", ["SSE41", "AVX2"])
def test_no_accepted_form_runs_on_plain_loops_on_a_lesser_processor(instructions: str) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.backends.dnnl.forms"],
        capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": instructions},
    )  # fmt: skip
    assert (found.returncode, found.stdout) == (0, f"{len(forms.FORMS)} forms\n"), found.stderr


RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(2, 5, 4, 3), (1, 64, 7, 7), (3, 6, 5), (4, 7), (2, 3, 4, 5, 2)])
@pytest.mark.parametrize("function", [kernels.softmax, kernels.log_softmax])
def test_softmax_along_each_axis_equals_reference(function: Any, shape: tuple[int, ...]) -> None:
    data = random(*shape)
    for axis in range(-1, len(shape)):
        wide = data.astype(np.float64)
        power = np.exp(wide - wide.max(axis, keepdims=True))
        wanted = power / power.sum(axis, keepdims=True)
        wanted = np.log(wanted) if function is kernels.log_softmax else wanted
        np.testing.assert_allclose(function(data, axis=axis), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3, 1, 1), (1, 1, 1, 1), (5,), ()])
def test_operand_after_a_softmax_is_read_with_its_own_strides(
    axis: int, shape: tuple[int, ...]
) -> None:
    """Also along an axis of one element, whose stride a kernel could ignore."""
    x, data, other = relay.var("x", shape=(2, 3, 4, 5)), random(2, 3, 4, 5), random(*shape)
    made = nn.relu(nn.softmax(x, axis=axis) - relay.const(np.float32(0.1))) * relay.const(other)
    function = infer_expr(Function([x], made))
    assert isinstance(function, Function)
    wanted = byoc_lab.evaluate(IRModule.from_expr(function), [data]).outputs[0]
    (got,) = dnnl.compile_region(function, "r")(data)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_tensor_added_to_a_softmax_along_one_element_equals_reference() -> None:
    x, other = relay.var("x", shape=(1, 16)), random(1, 16)
    function = infer_expr(Function([x], nn.softmax(x, axis=0) + relay.const(other)))
    assert isinstance(function, Function)
    (got,) = dnnl.compile_region(function, "r")(random(1, 16))
    np.testing.assert_allclose(got, 1 + other, rtol=1e-5)


@pytest.mark.parametrize("channels", [1, 3, 8, 12, 16, 60, 64])
@pytest.mark.parametrize("size", [7, 12])
def test_pools_that_read_an_input_run_in_a_fast_layout(channels: int, size: int) -> None:
    """oneDNN has no row-major kernel for them; another layout gives the same numbers."""
    x = relay.var("x", shape=(2, channels, size, size))
    window: dict[str, Any] = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1)}
    data = random(2, channels, size, size)
    for made in (nn.max_pool2d(x, **window), nn.avg_pool2d(x, **window), nn.global_avg_pool2d(x)):
        (function,) = forms.regions(made)
        mod = InferType()(relay.IRModule.from_expr(Function([x], made)))
        (wanted,) = byoc_lab.evaluate(mod, [data]).outputs
        (got,) = dnnl.compile_region(function, "r")(data)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


WINDOWS = [
    ((2, 3, 11), {"pool_size": 3, "strides": 2, "padding": 1}),
    ((1, 5, 9, 7), {"pool_size": (3, 2), "strides": (1, 3), "padding": (1, 0, 1, 1)}),
    ((1, 64, 9, 9), {"pool_size": 3, "dilation": 2}),
    ((2, 1, 5, 6, 7), {"pool_size": 2, "strides": (1, 2, 3), "padding": 1}),
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("shape", "window"), WINDOWS)
@pytest.mark.parametrize("kind", ["max", "avg of data", "avg of all"])
def test_pooling_in_planes_equals_pooling_each_window(
    shape: tuple[int, ...], window: dict[str, Any], kind: str, dtype: str
) -> None:
    data = random(*shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float32)
    axes = len(shape) - 2
    pool = getattr(kernels, f"{kind[:3]}_pool{axes}d")
    options = {} if kind == "max" else {"count_include_pad": kind == "avg of all"}
    got = pool(data, **window, **options).astype(np.float64)
    assert got.shape[:2] == shape[:2]
    for at in itertools.product(*map(range, got.shape[2:])):
        inside, taps = _window(data.astype(np.float64), at, window)
        wanted = inside.max(-1) if kind == "max" else inside.sum(-1)
        if kind != "max":
            wanted /= taps if kind == "avg of all" else inside.shape[-1]
        np.testing.assert_allclose(
            got[(..., *at)], wanted, rtol=1e-2 if dtype == "bfloat16" else 1e-6, atol=1e-6
        )


def _window(
    data: np.ndarray, at: tuple[int, ...], window: dict[str, Any]
) -> tuple[np.ndarray, int]:
    """The elements in the window at a position of the result, and the number of taps."""
    axes = len(at)
    taps, strides, gaps = (
        np.broadcast_to(window.get(name, 1), axes) for name in ("pool_size", "strides", "dilation")
    )
    before = (*np.ravel(window.get("padding", 0)), *[np.ravel(window.get("padding", 0))[0]] * 2)
    inside = data
    for axis in range(axes):
        index = at[axis] * strides[axis] - before[axis] + gaps[axis] * np.arange(taps[axis])
        index = index[(index >= 0) & (index < data.shape[2 + axis])]
        inside = np.take(inside, index, axis=2 + axis)
    return inside.reshape(*data.shape[:2], -1), int(np.prod(taps))


def test_max_pool_in_planes_returns_nan_for_windows_with_a_nan() -> None:
    data = np.zeros((1, 1, 4, 4), np.float32)
    data[0, 0, 0, 1] = np.nan
    assert np.isnan(kernels.max_pool2d(data, 2, strides=2)).tolist() == [
        [[[True, False], [False, False]]]
    ]


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("alg", ["add", "sub", "mul", "div", "max", "min"])
@pytest.mark.parametrize("other", [(5, 1, 7), (5, 6, 1), (2, 1, 6, 7), (1, 1, 6, 7), (6, 7), (1,)])
def test_operands_that_broadcast_along_any_axes_equal_reference(
    other: tuple[int, ...], alg: str, dtype: Any
) -> None:
    a, b = random(2, 5, 6, 7).astype(dtype), random(*other).astype(dtype)
    names = {"sub": "subtract", "mul": "multiply", "div": "divide", "max": "maximum"}
    function = getattr(np, {"min": "minimum", **names}.get(alg, alg))
    close = {"rtol": 1e-6 if dtype == np.float32 else 1e-2}
    wide = a.astype(np.float64), b.astype(np.float64)
    for left, right, wanted in ((a, b, function(*wide)), (b, a, function(*wide[::-1]))):
        got = kernels.binary(alg, left, right).astype(np.float64)
        np.testing.assert_allclose(got, wanted, **close)
    after = kernels.eltwise("abs", a, post_ops=[{"kind": "binary", "alg": alg, "input": b}])
    np.testing.assert_allclose(
        after.astype(np.float64), function(np.abs(wide[0]), wide[1]), **close
    )


def test_slow_kernel_shows_a_warning_on_the_card() -> None:
    for impl in ("ref:any", "simple_nchw:any", "simple_nhwc:any"):
        assert "warning" in str(OpCard("softmax_0", impl))
        assert "warning" in str(OpCard("conv2d_0", "jit:avx2", separate_impls=("jit:uni", impl)))
    for impl in ("jit:avx2", "simple:any", "rows", None):
        assert "warning" not in str(OpCard("softmax_0", impl))
