"""Measures the cost of a region's call beyond its oneDNN primitives.

A region of one small operator is called from Python with tensors of TVM-FFI (and with NumPy
arrays), and the same primitives run in a C++ loop with all arguments bound before; blocks of both
alternate in one process with one thread. The result is the median over the rounds of the difference
within a round.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from report import arguments, table, verdict, write_json

from byoc_lab.backends.dnnl import native

LIMIT = 1e-6  # limit in seconds, with tensors
CALLS = 2000  # number of calls per block
TENSORS, ARRAYS, BARE = "TVM-FFI tensors", "NumPy arrays", "bare loop"


def relu_region() -> native.DnnlRegion:
    """relu of (1, 64), a few cache lines, so that there is hardly any computation."""
    tensors = [{"name": name, "shape": [1, 64], "dtype": "float32"} for name in ("data", "out")]
    return native.DnnlRegion(
        {
            "format": "byoc_lab.dnnl.graph",
            "version": 1,
            "symbol": "relu",
            "tensors": tensors,
            "inputs": [0],
            "constants": [],
            "outputs": [1],
            "ops": [
                {
                    "name": "relu",
                    "kind": "eltwise",
                    "inputs": [0],
                    "output": 1,
                    "attrs": {"alg": "relu"},
                }
            ],
        }
    )


def block(call: Callable[..., Any], *args: Any) -> float:
    """Seconds per call, over CALLS calls."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call(*args)
    return (time.perf_counter() - start) / CALLS


def main() -> int:
    import tvm_ffi

    parser = arguments(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=101)
    options = parser.parse_args()
    native.set_num_threads(1)
    region = relu_region()
    run, bare = region.module[region.symbol], region.module["time_bare"]
    arrays = [native.aligned_empty((1, 64)) for _ in range(2)]
    arrays[0][:] = np.linspace(-1, 1, 64)
    tensors = [tvm_ffi.from_dlpack(array) for array in arrays]
    run(*tensors)
    if not np.array_equal(arrays[1], np.maximum(arrays[0], 0)):
        raise AssertionError("the region computes something else than relu")
    found: dict[str, list[float]] = {TENSORS: [], ARRAYS: [], BARE: []}
    for _ in range(options.rounds):
        found[BARE].append(bare(CALLS))
        found[TENSORS].append(block(run, *tensors))
        found[ARRAYS].append(block(run, *arrays))
    rows, cost = [], {}
    for name, seconds in found.items():
        over = [a - b for a, b in zip(seconds, found[BARE], strict=True)]
        cost[name] = statistics.median(over)
        each = statistics.median(seconds)
        rows.append([name, f"{each * 1e6:.2f} us", f"{cost[name] * 1e6:.2f} us"])
    print(table(["called with", "a call", "over the bare loop"], rows))
    write_json(
        options.out / "overhead.json",
        {"limit": LIMIT, "cost": cost, "seconds": found},
    )
    missed = f"a call costs {cost[TENSORS] * 1e6:.2f} us over the loop, limit {LIMIT * 1e6:g} us"
    return verdict([missed] * (cost[TENSORS] >= LIMIT))


if __name__ == "__main__":
    sys.exit(main())
