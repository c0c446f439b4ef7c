"""Many Python threads at once: on one region, on several regions, on kernels, and while regions
are compiled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from byoc_lab.backends.dnnl import kernels
from byoc_lab.backends.dnnl.native import DnnlRegion
from tests.backends.dnnl.graph.net import Net, residual_net

pytestmark = pytest.mark.native


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Runs work(0) ... work(count - 1) at once; raises the first exception."""
    failures: list[BaseException] = []
    start = threading.Barrier(count)

    def guarded(n: int) -> None:
        start.wait()
        try:
            work(n)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=guarded, args=(n,)) for n in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive()
    if failures:
        raise failures[0]


def test_threads_with_their_own_inputs_may_call_one_region() -> None:
    net, output = residual_net()
    region = net.check(output)
    rng = np.random.default_rng(1)
    data = [rng.standard_normal((1, 3, 16, 16)).astype(np.float32) for _ in range(8)]
    expected = [region(x)[0] for x in data]

    def work(n: int) -> None:
        for _ in range(10):
            np.testing.assert_array_equal(region(data[n])[0], expected[n])

    calls = region.stats()["calls"]
    in_threads(8, work)
    assert region.stats()["calls"] == calls + 80


def test_threads_may_run_one_region_with_different_batches() -> None:
    """Plans are made, used and dropped while other threads run."""
    net, output = residual_net()
    region = net.check(output)
    rng = np.random.default_rng(2)
    data = [rng.standard_normal((n + 1, 3, 16, 16)).astype(np.float32) for n in range(10)]
    expected = [region(x)[0] for x in data]

    def work(n: int) -> None:
        for turn in range(6):
            batch = (n + 3 * turn) % len(data)
            np.testing.assert_array_equal(region(data[batch])[0], expected[batch])

    in_threads(6, work)
    assert len(region.stats()["prepared"]) == 8


def test_threads_may_run_several_regions_and_kernels() -> None:
    made = [residual_net() for _ in range(4)]
    regions = [net.check(output) for net, output in made]
    data = made[0][0].arrays["inputs"][0]
    expected = [region(data)[0] for region in regions]
    weight = np.ones((8, 3, 3, 3), np.float32)
    convolved = kernels.conv2d(data, weight)

    def work(n: int) -> None:
        for turn in range(8):
            if n < 4:
                np.testing.assert_array_equal(regions[n](data)[0], expected[n])
            elif n < 6:
                np.testing.assert_array_equal(kernels.conv2d(data, weight), convolved)
            else:
                net, output = made[turn % 4]
                fresh = DnnlRegion({**net.graph, "outputs": [output]}, net.arrays["constants"])
                np.testing.assert_allclose(fresh(data)[0], expected[turn % 4], 1e-4, 1e-6)
                fresh.set_profiling(True)
                assert fresh.stats()["initialized"]

    in_threads(7, work)


def test_statistics_and_saving_work_while_the_region_runs() -> None:
    net, output = residual_net()
    region = net.check(output)
    data = net.arrays["inputs"][0]
    saved = bytes(region.module["save_to_bytes"]())

    def work(n: int) -> None:
        for turn in range(10):
            if n == 0:
                region.set_profiling(turn % 2 == 0)
            elif n == 1:
                assert region.stats()["symbol"] == "dnnl_0"
            elif n == 2:
                assert bytes(region.module["save_to_bytes"]()) == saved
            elif n == 3:
                assert region.module["__init_dnnl_0"](net.arrays["constants"]) == 0
            else:
                region(data)

    in_threads(6, work)


def test_region_releases_the_interpreter_lock() -> None:
    net = Net()
    tensor = net.input(1, 64, 96, 96)
    for _ in range(4):
        tensor = net.op("eltwise", [tensor], alg="relu")
    weight = net.const(64, 64, 3, 3)
    net.graph["tensors"].append({"name": "c", "shape": [1, 64, 96, 96], "dtype": "float32"})
    conv = {"name": "c", "kind": "conv2d", "inputs": [tensor, weight], "output": weight + 1}
    net.graph["ops"].append({**conv, "attrs": {"padding": [1, 1, 1, 1]}})
    net.graph["outputs"] = [weight + 1]
    region = DnnlRegion(net.graph, net.arrays["constants"], threads=1)
    (data,) = net.arrays["inputs"]
    done = threading.Event()

    def calls() -> None:
        for _ in range(20):
            region(data)
        done.set()

    worker = threading.Thread(target=calls)
    worker.start()
    turns = 0
    while not done.is_set():
        turns += 1
        time.sleep(0)
    worker.join()
    # If regions held the lock, Python would run only between the calls.
    assert turns > 60
