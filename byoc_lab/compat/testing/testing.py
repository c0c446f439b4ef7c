"""`tvm.testing`: fixtures and marks for tests written for TVM.

There is one target, "llvm", on the CPU. A test that requires another target is skipped with the
reason. The fixtures' parametrization is done by `pytest_plugin`.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from byoc_lab.compat.runtime.nd import cpu, kind_name
from byoc_lab.passes.framework.context import PassContext

TARGET = "llvm"
GROUP = "byoc_lab_parameter_group"
_groups = itertools.count()


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Same shape, and each element within `atol + rtol * abs(desired)`."""
    actual, desired = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_array_equal(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def enabled_targets() -> list[tuple[str, Any]]:
    """(target, device) pairs: the CPU."""
    return [(TARGET, cpu())]


def device_enabled(target: Any) -> bool:
    """Whether programs can be run for a target."""
    return kind_name(target) == TARGET


# Parameters and fixtures


def parameter(*values: Any, ids: Any = None, by_dict: dict[str, Any] | None = None) -> Any:
    """A fixture that takes each of `values`: `shape = tvm.testing.parameter((1, 2), (3, 4))`.

    A value may be a `pytest.param(value, marks=..., id=...)`.
    """
    if by_dict is not None:
        ids, values = list(by_dict), tuple(by_dict.values())
    return pytest.fixture(_requested(), params=values, ids=ids)


def parameters(*value_sets: Sequence[Any], ids: Any = None) -> list[Any]:
    """Fixtures whose values change together: `a, b = tvm.testing.parameters((1, 2), (3, 4))`."""
    group = next(_groups)
    return [_column(group, [row[n] for row in value_sets], ids) for n in range(len(value_sets[0]))]


def _column(group: int, values: list[Any], ids: Any) -> Any:
    value = _requested()
    setattr(value, GROUP, (group, values, ids))
    return pytest.fixture(value)


def _requested() -> Any:
    """A new fixture function that returns the requested parameter of pytest."""

    # The first argument is passed if the parameter is an attribute of a test class.
    def value(*instance: Any, request: pytest.FixtureRequest) -> Any:
        return request.param

    return value


def fixture(func: Any = None, *, cache_return_value: bool = False) -> Any:
    """A pytest fixture. `cache_return_value` only affects speed, and is ignored."""
    return pytest.fixture(func) if func is not None else pytest.fixture


# Targets


def parametrize_targets(*targets: Any) -> Any:
    """Run a test for each of these targets; targets other than the CPU are skipped."""
    if len(targets) == 1 and inspect.isfunction(targets[0]):
        return pytest.mark.parametrize("target", [TARGET])(targets[0])
    marked = [
        t if device_enabled(t) else pytest.param(t, marks=_skip(kind_name(t))) for t in targets
    ]
    return pytest.mark.parametrize("target", marked)


def exclude_targets(*targets: Any) -> Any:
    """Skip the test for these targets."""
    if any(device_enabled(t) for t in targets):
        return pytest.mark.skip(reason=f"{TARGET} is excluded, and there is no other target")
    return _unchanged


def known_failing_targets(*targets: Any) -> Any:
    """The test fails on these targets."""
    if any(device_enabled(t) for t in targets):
        return pytest.mark.xfail(reason=f"known to fail on {TARGET}")
    return _unchanged


def _unchanged(function: Any) -> Any:
    return function


def _skip(what: str) -> Any:
    return pytest.mark.skip(reason=f"needs {what}; byoc_lab runs on the CPU")


class Feature:
    """A requirement of a test: a decorator, with or without call parentheses."""

    def __init__(self, name: str, available: bool):
        self.name, self.available = name, available

    def __call__(self, func: Any = None, *, support_required: Any = True) -> Any:
        optional = support_required in (False, "optional")
        if func is None:
            return _unchanged if optional else self
        return func if optional or self.available else _skip(self.name)(func)

    def marks(self, support_required: Any = True) -> list[Any]:
        return [] if self.available or support_required == "optional" else [_skip(self.name)]


requires_llvm = requires_package_llvm = Feature("llvm", available=True)
uses_gpu = uses_multi_gpu = _unchanged
slow = skip_if_wheel_test = _unchanged


def requires_package(*packages: str) -> Callable[[Any], Any]:
    """Skip a test if one of these packages cannot be imported."""

    def missing(name: str) -> bool:
        try:
            __import__(name)
        except ImportError:
            return True
        return False

    return pytest.mark.skipif(any(map(missing, packages)), reason=f"needs {', '.join(packages)}")


def requires_nvcc_version(*version: int) -> Any:
    return _skip("nvcc")


def requires_cuda_compute_version(*version: int) -> Any:
    return _skip("CUDA")


def skip_if_32bit(reason: str) -> Any:
    return pytest.mark.skipif(sys.maxsize <= 2**32, reason=reason)


def enable_span_filling() -> PassContext:
    """A context in which `relay.frontend.common.set_span` works."""
    return _span_filling(True)


def disable_span_filling() -> PassContext:
    """A context in which `relay.frontend.common.set_span` changes nothing."""
    return _span_filling(False)


def _span_filling(on: bool) -> PassContext:
    now = PassContext.current()
    config = {**now.config, "relay.frontend.fill_span": on}
    return PassContext(now.opt_level, config=config)


def install_request_hook(depth: int) -> None:
    """Does nothing, as in TVM: only its own continuous integration redirects downloads."""


def main() -> None:
    """Run the tests of the file that calls this, and exit."""
    file = inspect.stack()[1].filename
    sys.exit(pytest.main([file, *sys.argv[1:]]))


def __getattr__(name: str) -> Any:
    if name.startswith("requires_"):
        return Feature(name[len("requires_") :], available=False)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
