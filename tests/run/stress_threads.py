"""Eight threads that build, run, export and load at once; fails unless all results are right.

test_many_threads.py runs it in a separate process, so that a crash counts as a failure.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from byoc_lab import build, relay
from byoc_lab.backends import dnnl
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate, load_library

THREADS = 8
ROUNDS = 3


def network(seed: int) -> IRModule:
    """A region followed by operators on the host."""
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((8, 4, 3, 3)).astype(np.float32)
    data = relay.var("data", shape=(1, 4, 8, 8))
    made = nn.relu(nn.conv2d(data, relay.const(weight), padding=1, channels=8))
    total = relay.erf(made) + relay.const(np.float32(seed))
    return infer_module(IRModule.from_expr(relay.Tuple([total, relay.sum(total, axis=[1])])))


def inputs(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((1, 4, 8, 8)).astype(np.float32)


def main(folder: Path) -> None:
    shared = build(dnnl.partition_for_dnnl(network(100)))
    shared.export_library(folder / "shared.so")
    library = load_library(folder / "shared.so")
    start = threading.Barrier(THREADS)

    def compare(run: Callable[[np.ndarray], list[np.ndarray]], mod: IRModule, seed: int) -> None:
        data = inputs(seed)
        for found, wanted in zip(run(data), evaluate(mod, [data]).outputs, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)

    def work(thread: int) -> None:
        start.wait()
        for n in range(ROUNDS):
            seed = thread * ROUNDS + n
            for again in range(20):
                compare(shared, network(100), seed + again)
                compare(library, network(100), seed + again)
            own = build(dnnl.partition_for_dnnl(network(seed)))
            compare(own, network(seed), seed)
            compare(load_library(folder / "shared.so"), network(100), seed)
            shared.export_library(folder / f"{thread}.so")
            with shared.profiling():
                shared(inputs(seed))
            compare(load_library(folder / f"{thread}.so"), network(100), seed)

    with ThreadPoolExecutor(THREADS) as pool:
        failures = [task.exception() for task in [pool.submit(work, n) for n in range(THREADS)]]
    for failure in filter(None, failures):
        traceback.print_exception(failure)
    assert shared.runs == THREADS * ROUNDS * 21, shared.runs
    sys.exit(any(failures))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
