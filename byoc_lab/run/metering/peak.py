"""This machine's peak: the rate that a large matrix product reaches here, measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Constant, Expr, Function, Op, Var
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op import builder
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.backends import backend_names, get_backend
from byoc_lab.run.stand_in import NUMPY

SIZE = 1024  # rows of square matrices: 2.1 GFLOP on 12 MB
TURNS = 8
_measuring = threading.Lock()
ARRAYS = {
    "float32": (np.float32, np.float32),
    "bfloat16": (np.uint16, np.uint16),  # the bits of a bfloat16, a dtype that NumPy lacks
    "int8": (np.uint8, np.int8),
}


PEAKS = {"bfloat16": "bfloat16", "int8": "int8", "uint8": "int8"}
"""The numbers (`Peak.numbers`) whose peak applies to a dtype; float32 for all other dtypes."""


@dataclass(frozen=True)
class Peak:
    """The best rate of a product of two 1,024 x 1,024 matrices with all threads.

    flops_per_second: of the fastest of 8 products. by: the library that computed them. numbers:
    "float32", "bfloat16", or "int8" (uint8 times int8, accumulated in int32).
    """

    flops_per_second: float
    by: str
    numbers: str = "float32"

    @printable
    def __str__(self) -> str:
        rate = self.flops_per_second / 1e9
        return f"{rate:.0f} GFLOP/s ({self.numbers} matrix product by {self.by})"


def machine_peak(dtype: str = "float32") -> Peak:
    """The peak of this machine for data of a dtype, measured once in a process (a tenth of a
    second).

    Measured with oneDNN if the extension is installed, else with NumPy. For dtypes without a
    separate measurement, and dtypes without instructions on this machine, it is the float32 peak.
    """
    with _measuring:
        return _measured(PEAKS.get(dtype, "float32"))


@cache
def _measured(numbers: str) -> Peak:
    try:
        multiply, by = _product(numbers)
        x = np.ones((SIZE, SIZE), ARRAYS[numbers][0])
        y = np.ones((SIZE, SIZE), ARRAYS[numbers][1])
        multiply(x, y)
    except (BuildError, RuntimeError):
        if numbers == "float32":
            raise
        return _measured("float32")
    seconds = []
    for _ in range(TURNS):
        started = time.perf_counter()
        multiply(x, y)
        seconds.append(time.perf_counter() - started)
    return Peak(2 * SIZE**3 / min(seconds), by, numbers)


def _product(numbers: str) -> tuple[Callable[..., Any], str]:
    """A matrix product function, and the library that it belongs to. Raises BuildError if there is
    none for `numbers`."""
    types = ("uint8", "int8") if numbers == "int8" else (numbers, numbers)
    x, y = (Var(n, TensorType((SIZE, SIZE), t)) for n, t in zip("xy", types, strict=True))
    function = infer_expr(Function([x, y], _dense(x, y, numbers)))
    assert isinstance(function, Function)
    region = get_backend("dnnl")(function, "peak") if "dnnl" in backend_names() else None
    if region is not None and getattr(region, "stand_in", None) is None:
        return region, "oneDNN"
    if numbers != "float32":
        raise BuildError(f"no product of {numbers} without oneDNN")
    return np.matmul, NUMPY


def _dense(x: Expr, y: Expr, numbers: str) -> Expr:
    dense: Callable[..., Expr] = builder(Op.get("qnn.dense" if numbers == "int8" else "nn.dense"))
    if numbers != "int8":
        return dense(x, y)
    zero, one = Constant(np.int32(0)), Constant(np.float32(1))
    return dense(x, y, zero, zero, one, one, units=SIZE)
