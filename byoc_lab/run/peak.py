"""This machine's peak: the float32 rate that a large matrix product reaches here, measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError, NativeExtensionError, UnknownNameError
from byoc_lab.relay.ir.expr import Function, Op, Var
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op import builder
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.backends import get_backend

SIZE = 1024  # of square matrices: 2.1 GFLOP on 12 MB
TURNS = 8
_measuring = threading.Lock()


@dataclass(frozen=True)
class Peak:
    """The best rate of a float32 matrix product of 1,024 x 1,024 numbers, all threads together.

    flops_per_second: of the quickest of 8 products. by: what computed it.
    """

    flops_per_second: float
    by: str

    def __str__(self) -> str:
        return f"{self.flops_per_second / 1e9:.0f} GFLOP/s (float32 matrix product by {self.by})"


def machine_peak() -> Peak:
    """The peak of this machine, measured once in a process (about a tenth of a second).

    By oneDNN where the extension is installed, by NumPy elsewhere.
    """
    with _measuring:
        return _measured()


@cache
def _measured() -> Peak:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((SIZE, SIZE)).astype(np.float32) for _ in range(2))
    multiply, by = _product()
    multiply(a, b)
    seconds = []
    for _ in range(TURNS):
        started = time.perf_counter()
        multiply(a, b)
        seconds.append(time.perf_counter() - started)
    return Peak(2 * SIZE**3 / min(seconds), by)


def _product() -> tuple[Callable[..., Any], str]:
    """A function that multiplies matrices, and whose it is."""
    x, y = (Var(name, TensorType((SIZE, SIZE), "float32")) for name in "xy")
    function = infer_expr(Function([x, y], builder(Op.get("nn.dense"))(x, y)))
    try:
        assert isinstance(function, Function)
        return get_backend("dnnl")(function, "peak"), "oneDNN"
    except (BuildError, NativeExtensionError, UnknownNameError):
        return np.matmul, "NumPy"
