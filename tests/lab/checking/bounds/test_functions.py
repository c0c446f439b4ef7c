"""The error table has the largest error over all instruction sets, and no larger number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.lab.checking.bounds.functions import exponent_error, half_ulp
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relay import Function
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.typing.infer import infer_expr
from tests.lab.checking.bounds import measured_errors

LEVELS = ("SSE41", "AVX", "AVX2", "its own")
ROOT = Path(__file__).parents[4]


def measured(level: str) -> dict[str, dict[str, float]]:
    """The shares that `measured_errors.py` finds in a process that is limited to one instruction
    set; "its own" is the largest set of the processor."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    environment.pop("ONEDNN_MAX_CPU_ISA", None)
    if level in LEVELS[:-1]:
        environment["ONEDNN_MAX_CPU_ISA"] = level
    command = [sys.executable, "-m", "tests.lab.checking.bounds.measured_errors"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def shares() -> dict[str, dict[str, dict[str, float]]]:
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(LEVELS, pool.map(measured, LEVELS), strict=True))


def too_large(found: dict[str, dict[str, float]]) -> dict[str, float]:
    """Errors beyond the table, and correct kernels with errors beyond 0.95 of their tolerance.

    Kernels run alone, on arrays shorter than a vector, and fused into others.
    """
    limits = {"table": 1.0, "bounds": 0.95}
    return {n: s for part, limit in limits.items() for n, s in found[part].items() if s > limit}


@pytest.mark.native
def test_errors_are_within_the_table_and_the_bounds_on_this_instruction_set() -> None:
    """`make machines` runs this on each instruction set."""
    assert too_large(measured_errors.measured()) == {}


@pytest.mark.slow
@pytest.mark.native
def test_measured_errors_are_within_the_bounds_on_every_instruction_set(shares: dict) -> None:
    assert not {level: large for level in LEVELS if (large := too_large(shares[level]))}


@pytest.mark.slow
@pytest.mark.native
def test_largest_error_is_over_70_percent_of_the_table(shares: dict) -> None:
    """The host's tanh has a larger error than oneDNN's."""
    for name in ("exp", "log", "sigmoid", "sqrt", "tanh"):
        assert max(found["table"][name] for found in shares.values()) > 0.7, name


def bound(expr: Expr, x: np.ndarray) -> np.ndarray:
    """The tolerances of `expr` in units of u, relative to its results."""
    function = infer_expr(Function([relay.analysis.free_vars(expr)[0]], expr))
    assert isinstance(function, Function)
    found = bounded(function, {function.params[0]: x}, exact_constants=True)
    tolerance: np.ndarray = found.tolerances[0] / np.abs(found.outputs[0]) * 2.0**24
    return tolerance


def test_bounds_are_wide_only_where_errors_are_large() -> None:
    """A relative error of 1e-6 is detected for small |x|, and an error of 1e-5 for all x."""
    x = relay.var("x", shape=(5,))
    values = np.float32([-80, -5, 0, 6, 80])
    for call in (relay.exp(x), relay.sigmoid(x)):
        far, near, middle, below, _ = bound(call, values)
        assert max(near, middle, below) < 1e-6 * 2**24 < far < 1e-5 * 2**24


def test_error_of_the_exponent_is_half_an_ulp_of_its_argument() -> None:
    assert half_ulp(np.float64([1, 1.9, 64, 100])).tolist() == [1, 1, 64, 64]
    found = exponent_error(np.float64([0, -6.9, 6.9, 64, -64]))
    assert found[:3].tolist() == [0, 0, 0] and found[3] == found[4] > 64


def test_sum_of_errors_with_one_cause_is_bounded_by_their_sum() -> None:
    """Without FMA, exp has the same error of 64 roundings for all numbers with equal exponents."""
    x = relay.var("x", shape=(1000,))
    (relative,) = bound(relay.mean(relay.exp(x), axis=[0], keepdims=True), np.full(1000, 80, "f"))
    assert relative > 64
