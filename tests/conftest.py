"""Profiles of the property tests, markers for missing parts, and common fixtures.

`fixed` (the default, and what CI runs): each test draws the same few examples in every run, so that
a successful run stays successful. `explore` (`make slow`, or `pytest
--hypothesis-profile=explore`): new examples in every run, to find new faults. `pytest
--hypothesis-seed=N` (`make slow SEED=N`) explores from the given seed. A failure prints how to
reproduce it.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from byoc_lab.backends.dnnl import native
from byoc_lab.run import tvm_runtime
from tests.parity.client import skip_reason
from tests.sweeps import one_in, some

# The time of an example depends on the machine more than on the code: tests that limit it do so
# themselves.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("fixed", unhurried, derandomize=True, max_examples=some(50))
settings.register_profile("explore", unhurried, derandomize=False)
settings.load_profile("fixed")

LACKING = {
    "native": lambda: None if native.available() else "the DNNL extension is not built",
    "oracle": skip_reason,
    "linux": lambda: None if sys.platform == "linux" else "needs Linux",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--plain-llvm",
        action="store_true",
        help="LLVM compiles the host part without optimizing it, which takes half the time",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--plain-llvm"):
        _compile_without_optimizing()
    asked = config.getoption("--hypothesis-profile")
    if config.getoption("--hypothesis-seed") is not None and asked is None:
        settings.load_profile("explore")  # a seed has no effect on derandomized tests


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test if this machine lacks a requirement that one of its markers names."""
    for name, reason in LACKING.items():
        if item.get_closest_marker(name) and (lacking := reason()):
            pytest.skip(lacking)


@pytest.hookimpl(trylast=True)  # after -m has selected tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = list(one_in(items))
    if left_out := set(items) - set(kept):
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = kept


def _compile_without_optimizing() -> None:
    """Other targets than "llvm" are unchanged."""
    given = tvm_runtime.cpu_target

    def plain(target: str) -> Any:
        return given('{"kind": "llvm", "opt-level": 0}' if target == "llvm" else target)

    tvm_runtime.cpu_target = plain


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Excludes collected tests from garbage collection, since they live until the end.

    Afterwards the collector runs less often: modules are many small objects, few of them in cycles,
    and with Python's default thresholds the collector takes a seventh of the processor time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Spares this process the collection of its modules and results, which ends with it anyway."""
    gc.freeze()


@pytest.fixture(scope="module")
def processes_without_torch() -> Iterator[None]:
    """Hides PyTorch from the processes that a module's tests start.

    TVM-FFI, which loads DNNL, imports it if it is installed, which takes longer than the rest.
    """
    folder = Path(__file__).parent / "data" / "without_torch"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        yield


@pytest.fixture
def dask_client() -> Iterator[Any]:
    """A client of two Dask workers in separate processes.

    Dask leaves variables such as OMP_NUM_THREADS=1 in this process's environment; the fixture
    restores the environment for later tests.
    """
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    before = dict(os.environ)
    two = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": None}
    try:
        with distributed.LocalCluster(**two) as cluster, distributed.Client(cluster) as client:
            yield client
    finally:
        os.environ.clear()
        os.environ.update(before)
