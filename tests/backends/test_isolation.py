"""Compiled regions in separate processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from byoc_lab import backends, build, relay
from byoc_lab.backends import C, ModuleRegion, PythonRegion, c_library, isolated
from byoc_lab.backends.ccompiler import CRegion
from byoc_lab.errors import ArgumentError, BuildError, RegionError
from byoc_lab.relay import Function, IRModule
from byoc_lab.relay.typing.infer import infer_module
from tests.compilers import needs_cc

pytestmark = needs_cc
NAME = "student"
VALUES = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
KERNEL = """
#include <stdlib.h>
#include <unistd.h>
#include "tensor_argument.h"
int __tvm_ffi_{symbol}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  int64_t shape[] = {{2, 3}};
  float* x = tensor_argument(args, 0, shape, 2);
  float* y = tensor_argument(args, 1, shape, 2);
  if (!x || !y) return -1;
  {body}
  return 0;
}}
"""


def codegen(body: str) -> Any:
    def compiled(function: Function, symbol: str) -> ModuleRegion:
        text = KERNEL.format(symbol=symbol, body=body)
        library = c_library(symbol, [C(text)], includes=[backends.HEADERS])
        return ModuleRegion(function, symbol, library)

    return compiled


@pytest.fixture
def run() -> Iterator[Any]:
    """Runs exp of the input, computed by a kernel in C, plus one, computed by TVM."""

    def run(body: str, **options: Any) -> np.ndarray:
        backends.register(NAME, supports=["exp"], codegen=codegen(body), **options)
        exe = build(backends.partition(module(), NAME))
        (result,) = exe(VALUES)
        exe.assert_offloaded()
        return result

    yield run
    backends.register(NAME)


def module() -> IRModule:
    data = relay.var("data", shape=(2, 3))
    return infer_module(IRModule.from_expr(relay.exp(data) + relay.const(1.0)))


@pytest.mark.parametrize("apart", [False, True])
def test_kernel_computes_the_region_in_either_process(run: Any, apart: bool) -> None:
    twice = "for (int n = 0; n < 6; ++n) y[n] = 2 * x[n];"
    np.testing.assert_array_equal(run(twice, isolated=apart), VALUES * 2 + 1)


def test_crash_of_an_isolated_kernel_raises_region_error(run: Any) -> None:
    with pytest.raises(RegionError, match=r"region @\w+: .* crashed its process \(SIGSEGV\)"):
        run("*(volatile float*)0 = x[0];", isolated=True)
    with pytest.raises(RegionError, match=r"crashed its process \(SIGABRT\)"):
        run("abort();", isolated=True)
    with pytest.raises(RegionError, match=r"exit status 3"):
        run("_exit(3);", isolated=True)  # exit() would run handlers of other libraries


def test_endless_loop_in_an_isolated_kernel_raises_region_error(run: Any) -> None:
    with pytest.raises(RegionError, match=r"did not end within 0\.3 s of .* \(an endless loop\?\)"):
        run("for (volatile int n = 0;; ++n) {}", isolated=True, time_limit=0.3)


def test_error_reported_by_isolated_code_is_raised(run: Any) -> None:
    fails = 'TVMFFIErrorSetRaisedFromCStr("ValueError", "no kernel for this"); return -1;'
    with pytest.raises(RegionError, match=r"ValueError: no kernel for this"):
        run(fails, isolated=True)


def test_static_variables_of_an_isolated_kernel_start_anew_in_each_call(run: Any) -> None:
    body = "static int calls = 0; for (int n = 0; n < 6; ++n) y[n] = calls; ++calls;"
    backends.register(NAME, supports=["exp"], codegen=codegen(body), isolated=True)
    exe = build(backends.partition(module(), NAME))
    assert [float(exe(VALUES)[0][0, 0]) for _ in range(3)] == [1.0, 1.0, 1.0]


def test_any_code_generator_can_be_isolated() -> None:
    mod = backends.partition(module(), "ccompiler")
    exe = build(mod, backends={"ccompiler": isolated(CRegion)})
    np.testing.assert_allclose(exe(VALUES)[0], np.exp(VALUES) + 1, rtol=1e-6)
    crash = isolated(lambda function, symbol: PythonRegion(lambda x: 1 / 0))
    with pytest.raises(RegionError, match="ZeroDivisionError"):
        build(mod, backends={"ccompiler": crash})(VALUES)


def test_invalid_arguments_of_isolated_are_refused() -> None:
    with pytest.raises(ArgumentError, match="time_limit must be seconds above 0, found 0"):
        isolated(CRegion, time_limit=0)
    none = isolated(lambda function, symbol: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(BuildError, match="returned NoneType for the function"):
        build(backends.partition(module(), "ccompiler"), backends={"ccompiler": none})
