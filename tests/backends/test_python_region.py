"""Regions that a Python function computes, in this process and in a separate one."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from byoc_lab import backends, build, decode, processor_time, relay
from byoc_lab.backends import PythonRegion
from byoc_lab.errors import ArgumentError, BuildError, RegionError
from byoc_lab.relay import IRModule
from byoc_lab.relay.typing.infer import infer_module
from tests.fuzz.attacks.regions import RESULTS

NAME = "toy_python"
VALUES = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
Run = Callable[..., np.ndarray]


@pytest.fixture
def run() -> Iterator[Run]:
    """Runs exp of the input, computed by the given function, plus one, computed by TVM."""

    def run(fn: Callable[..., Any], **options: Any) -> np.ndarray:
        backends.register(
            NAME, supports=["exp"], codegen=lambda function, symbol: PythonRegion(fn, **options)
        )
        data = relay.var("data", shape=(2, 3))
        mod = infer_module(IRModule.from_expr(relay.exp(data) + relay.const(1.0)))
        exe = build(backends.partition(mod, NAME))
        (result,) = exe(VALUES)
        exe.assert_offloaded()
        return result

    yield run
    if NAME in backends.names():
        backends.unregister(NAME)


@pytest.mark.parametrize("isolated", [False, True])
def test_python_function_computes_the_region(run: Run, isolated: bool) -> None:
    expected = np.exp(VALUES.astype(np.float64)) + 1
    np.testing.assert_allclose(run(np.exp, isolated=isolated), expected, rtol=1e-6)
    # Twice the input is not exp: the given function ran.
    np.testing.assert_array_equal(run(lambda x: x * 2, isolated=isolated), VALUES * 2 + 1)


@pytest.mark.parametrize("isolated", [False, True])
def test_exception_raises_region_error_with_its_line(run: Run, isolated: bool) -> None:
    with pytest.raises(RegionError, match=r"test_python_region\.py:\d+: ZeroDivisionError"):
        run(lambda x: 1 / 0, isolated=isolated)


@pytest.mark.parametrize(
    "fn, message",
    [
        (lambda x: x[0], r"has shape \(3,\)"),
        (lambda x: x.astype(np.float64), "dtype float64, expected"),
        (lambda x: (x, x), "returned 2 arrays, expected 1: the results"),
    ],
)
def test_result_of_another_type_raises_region_error(
    run: Run, fn: Callable[..., Any], message: str
) -> None:
    with pytest.raises(RegionError, match=message):
        run(fn)


def test_crash_of_the_function_raises_region_error(run: Run) -> None:
    with pytest.raises(RegionError, match=r"crashed its process \(SIGSEGV\)"):
        run(lambda x: ctypes.string_at(0), isolated=True)
    with pytest.raises(RegionError, match="exit status 3"):
        run(lambda x: os._exit(3), isolated=True)


def test_endless_function_raises_region_error(run: Run) -> None:
    def endless(x: np.ndarray) -> np.ndarray:
        while True:
            pass

    with pytest.raises(RegionError, match=r"did not end within 0\.2 s"):
        run(endless, isolated=True, time_limit=0.2)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals of POSIX")
def test_function_that_stops_its_process_raises_region_error(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopping(x: np.ndarray) -> np.ndarray:
        os.kill(os.getpid(), signal.SIGSTOP)
        return x

    monkeypatch.setattr(processor_time, "LEAST_ASLEEP", 0.2)
    with pytest.raises(RegionError, match="did not end"):
        run(stopping, isolated=True, time_limit=0.01)


def test_region_returns_both_results() -> None:
    x = relay.var("x", shape=(2, 3))
    function = relay.Function([x], relay.Tuple([relay.exp(x), relay.tanh(x)]))
    bound = PythonRegion(lambda x: (np.exp(x), np.tanh(x))).bind(function, "f")
    for found, expected in zip(bound(VALUES), [np.exp(VALUES), np.tanh(VALUES)], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(ArgumentError, match="found int"):
        PythonRegion(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="time_limit"):
        PythonRegion(np.exp, time_limit=0)


def test_executable_with_a_python_region_cannot_be_exported(tmp_path: Any) -> None:
    pytest.importorskip("tvm", reason="apache-tvm is not installed")
    backends.register(NAME, supports=["exp"], codegen=lambda f, s: PythonRegion(np.exp))
    mod = infer_module(IRModule.from_expr(relay.exp(relay.var("x", shape=(2, 3)))))
    part = backends.partition(mod, NAME)
    exe = build(part)
    backends.register(NAME)
    with pytest.raises(BuildError, match="cannot be exported") as caught:
        exe.export_library(tmp_path / "x.so")
    (meaning,) = decode(caught.value, part)
    assert meaning.name == "own-cannot-be-exported" and "offload=False" in meaning.what_to_do
    for number, advised in enumerate((build(part, offload=False), build(mod))):
        advised.export_library(tmp_path / f"{number}.so")


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("name", ["an error that is no text", "exit", "an error without message"])
def test_any_exception_raises_region_error(run: Run, name: str, isolated: bool) -> None:
    """Also one whose message has half of a surrogate pair, which would make TVM end the process."""
    with pytest.raises(RegionError, match=r"its function failed at .*regions\.py:\d+: "):
        run(RESULTS[name], isolated=isolated)


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("name", ["an array that raises", "a list that raises"])
def test_result_conversion_error_is_raised_in_the_function_s_process(
    run: Run, name: str, isolated: bool
) -> None:
    with pytest.raises(RegionError, match=r"region @.*: its function failed at "):
        run(RESULTS[name], isolated=isolated)


def test_masked_result_is_refused(run: Run) -> None:
    with pytest.raises(RegionError, match="expected an array without a mask"):
        run(RESULTS["masked"])


def test_ctrl_c_in_a_region_raises_keyboard_interrupt(run: Run) -> None:
    def interrupted(x: np.ndarray) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(interrupted)


@pytest.mark.parametrize("isolated", [False, True])
def test_write_to_an_input_is_refused(run: Run, isolated: bool) -> None:
    before = VALUES.copy()
    with pytest.raises(RegionError, match="read-only"):
        run(lambda x: np.exp(x, out=x), isolated=isolated)
    assert (before == VALUES).all()
