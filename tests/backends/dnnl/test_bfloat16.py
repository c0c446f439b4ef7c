"""bfloat16 on DNNL: kernels and Relay modules, within the rounding error of float64 references."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import kernels
from byoc_lab.backends.dnnl.partition import partition_for_dnnl
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.run.inline import inlined

ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
BF16 = np.dtype(ml_dtypes.bfloat16)
U = 2.0**-8  # half the distance from 1 to the next bfloat16


pytestmark = [pytest.mark.native, pytest.mark.usefixtures("processes_without_torch")]


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(BF16)


image, weight, vector = random(2, 16, 8, 8), random(8, 16, 3, 3, seed=1), random(8, seed=2)
rows, matrix = random(5, 64, seed=3), random(7, 64, seed=4)


def test_bfloat16_bits_in_uint16_are_accepted() -> None:
    out = np.empty(image.shape, np.uint16)
    assert kernels.relu(image.view(np.uint16), out=out) is not None
    np.testing.assert_array_equal(out.view(BF16), np.maximum(image, BF16.type(0)))


EVERY = """
import ml_dtypes, numpy as np
from byoc_lab.backends.dnnl import kernels

bits = np.arange(2**16, dtype=np.uint16)
x = bits.view(ml_dtypes.bfloat16)[~np.isnan(bits.view(ml_dtypes.bfloat16).astype(np.float32))]
for factor in (1.0, -1.0078125, 1.5, 0.99609375):
    by = np.asarray([factor], ml_dtypes.bfloat16)
    wanted = (x.astype(np.float32) * by.astype(np.float32)).astype(ml_dtypes.bfloat16)
    got = kernels.binary("mul", x, by)
    np.testing.assert_array_equal(got.view(np.uint16), wanted.view(np.uint16))
images = np.random.default_rng(0).standard_normal((1, 32, 56, 56)).astype(ml_dtypes.bfloat16)
weight = np.ones((32, 32, 1, 1), ml_dtypes.bfloat16)
(kernels.conv2d(images, weight), kernels.relu(images), kernels.softmax(images, axis=1))
nan = np.full(70000, np.nan, ml_dtypes.bfloat16)
assert np.isnan(kernels.eltwise("abs", nan).astype(np.float32)).all()
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_bfloat16_without_its_instructions_is_converted_exactly_and_runs_no_plain_loop(
    threads: str,
) -> None:
    """Products of two bfloat16 numbers are exact in float32 (if not too small), so one rounding
    to the nearest remains; oneDNN's log names the kernels."""
    limits = {"ONEDNN_MAX_CPU_ISA": "SSE41", "ONEDNN_VERBOSE": "1", "OMP_NUM_THREADS": threads}
    done = subprocess.run(
        [sys.executable, "-c", EVERY],
        env={**os.environ, **limits},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    ran = [line for line in done.stdout.splitlines() if line.startswith("onednn_verbose,exec")]
    assert ran and not [line for line in ran if "bf16" in line or ",ref:any" in line]


def test_bfloat16_mixed_with_float32_is_refused() -> None:
    with pytest.raises(TypeError, match="weight: expected dtype bfloat16, that of data, found flo"):
        kernels.conv2d(image, weight.astype(np.float32))
    with pytest.raises(TypeError, match="out: expected dtype bfloat16"):
        kernels.relu(image, out=np.empty(image.shape, np.float32))


def network(kind: str) -> Expr:
    data = relay.var("data", shape=(1, 16, 8, 8), dtype="bfloat16")
    conv = nn.conv2d(data, relay.const(weight), padding=1)
    biased = nn.relu(conv + relay.const(vector.reshape(8, 1, 1)))
    if kind == "conv":
        return nn.max_pool2d(biased, pool_size=(2, 2), strides=(2, 2))
    if kind == "sum":
        other = relay.var("other", shape=(1, 8, 8, 8), dtype="bfloat16")
        return nn.relu(conv + relay.const(vector.reshape(8, 1, 1)) + other)
    if kind == "batch_norm":
        ones = relay.const(np.ones(8, BF16))
        return nn.batch_norm(conv, relay.const(vector), ones, ones, ones)[0]
    flat = relay.var("rows", shape=(5, 64), dtype="bfloat16")
    return relay.tanh(nn.dense(flat, relay.const(matrix)) + relay.const(random(7)))


@pytest.mark.parametrize("kind", ["conv", "sum", "batch_norm", "dense"])
def test_bfloat16_module_is_partitioned_and_runs_within_tolerance(kind: str) -> None:
    """partition_for_dnnl treats bfloat16 as float32, and the region runs."""
    mod = partition_for_dnnl(IRModule.from_expr(network(kind)))
    regions = [f for f in mod.functions.values() if f.attrs.get("Compiler") == "dnnl"]
    assert len(regions) == 1
    func = regions[0]
    assert isinstance(func, Function)
    inputs = {p: random(*p.checked_type.concrete_shape, seed=n) for n, p in enumerate(func.params)}
    region = dnnl.compile_region(func, "r")
    wanted = bounded(inlined(func), inputs, exact_constants=True)
    (got,) = region(*inputs.values())
    assert got.dtype == BF16
    errors = np.abs(got.astype(np.float64) - wanted.outputs[0])
    assert np.all(errors <= wanted.tolerances[0])
    # The tolerance allows for sums in bfloat16. DNNL sums in float32, so at most the four
    # intermediate results are rounded, also on processors without bfloat16.
    assert errors.max() <= 4 * U * np.abs(wanted.outputs[0]).max()
