"""`c_library`: compiles C sources with array data into libraries that run and are exported."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, processor_time, relay
from byoc_lab.backends import HEADERS, C, ModuleRegion, PythonRegion, c_library, system_compiler
from byoc_lab.errors import BuildError
from byoc_lab.run import load_library
from tests.compilers import needs_cc

SOURCE = """
#include "tensor_argument.h"
extern const {kind} {name}[3];
int __tvm_ffi_f(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  float* out = tensor_argument(args, 0, (int64_t[]){{3}}, 1);
  if (!out) return -1;
  for (int n = 0; n < 3; ++n) out[n] = {name}[n];
  return 0;
}}
"""


@needs_cc
@pytest.mark.parametrize(
    "kind, dtype", [("float", "float32"), ("int8_t", "int8"), ("double", "float64")]
)
def test_sources_read_the_given_arrays(kind: str, dtype: str) -> None:
    text = SOURCE.format(kind=kind, name="f_second")
    columns = np.array([[1, 2], [3, 4], [-5, 6]], dtype)
    data = {"f_first": columns, "f_second": columns[:, 0], "f_none": np.zeros((0,), dtype)}
    out = np.zeros(3, np.float32)
    c_library("f", [C(text)], includes=[HEADERS], data=data)["f"](out)
    np.testing.assert_array_equal(out, [1, 3, -5])


@pytest.mark.parametrize(
    "name, array", [('x"\n.globl y', np.zeros(3)), ("int", np.zeros(3)), ("x", np.array([None]))]
)
def test_invalid_names_and_arrays_are_refused(name: str, array: np.ndarray) -> None:
    with pytest.raises(
        BuildError, match="data must be arrays of plain numbers, named by identifiers"
    ):
        c_library("f", [C("int x;")], data={name: array})


@needs_cc
def test_temporary_folder_may_have_any_name(tmp_path, monkeypatch) -> None:
    folder = tmp_path / 'a "quoted" \\ name'
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    text = SOURCE.format(kind="float", name="f_w")
    out = np.zeros(3, np.float32)
    weights = np.arange(3, dtype=np.float32)
    c_library("f", [C(text)], includes=[HEADERS], data={"f_w": weights})["f"](out)
    np.testing.assert_array_equal(out, weights)


CODE = """
#include "tensor_argument.h"
extern const float {symbol}_one[1];
int __tvm_ffi_{symbol}(
    void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  int64_t shape[1] = {{4}};
  float* in = tensor_argument(args, 0, shape, 1);
  float* out = tensor_argument(args, 1, shape, 1);
  if (!in || !out) return -1;
  for (int n = 0; n < 4; ++n) out[n] = in[n] + {symbol}_one[0];
  return 0;
}}
"""


@needs_cc
def test_regions_of_c_library_are_exported(tmp_path: Path) -> None:
    """Several regions, with data, in a user-defined back end."""
    pytest.importorskip("tvm")

    def codegen(function: relay.Function, symbol: str) -> ModuleRegion:
        source = C(CODE.format(symbol=symbol))
        data = {f"{symbol}_one": np.ones(1, "float32")}
        return ModuleRegion(function, symbol, c_library(symbol, [source], [], [HEADERS], data))

    x = relay.var("x", shape=(4,))
    inner = relay.tanh(relay.add(x, relay.const(np.ones(4, "float32"))))
    net = relay.add(inner, relay.const(np.ones(4, "float32")))
    backends.register("npu", supports=["add"], codegen=codegen)
    try:
        mod = byoc_lab.trace(relay.IRModule.from_expr(net), "npu").result
    finally:
        backends.unregister("npu")
    exe = byoc_lab.build(mod, backends={"npu": codegen})
    values = np.arange(4, dtype="float32")
    (expected,) = exe.run([values])
    exe.export_library(tmp_path / "net.so")
    (found,) = load_library(tmp_path / "net.so").run([values])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found, np.tanh(values + 1) + 1, rtol=1e-5)


def test_python_region_is_not_exported(tmp_path: Path) -> None:
    pytest.importorskip("tvm")
    net = relay.IRModule.from_expr(relay.tanh(relay.nn.relu(relay.var("x", shape=(4,)))))
    codegen = PythonRegion(lambda x: np.maximum(x, 0))
    backends.register("npu", supports=["nn.relu"], codegen=lambda function, symbol: codegen)
    try:
        exe = byoc_lab.build(byoc_lab.trace(net, "npu").result)
    finally:
        backends.unregister("npu")
    with pytest.raises(BuildError, match=r"it is Python\. What byoc_lab\.backends\.c_library"):
        exe.export_library(tmp_path / "net.so")


SILENT = """
#include "tensor_argument.h"
int __tvm_ffi_silent(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  return -1;
}
"""
TOLD = SILENT.replace(
    "return -1", 'set_region_error(__func__, "RegionError", "too hot"); return -1'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SILENT, "region @silent: its code returned -1, .* and set no error; set_region_error"),
        (TOLD, "^region @silent: too hot$"),
    ],
)
def test_region_function_that_returns_minus_one_raises_an_error(text: str, message: str) -> None:
    """TVM-FFI crashes if a function fails without setting an error."""
    function = c_library("silent", [C(text)], includes=[HEADERS])["silent"]
    for _ in range(100):
        with pytest.raises(Exception, match=message):
            function()


def test_sources_without_the_region_function_raise_build_error() -> None:
    with pytest.raises(BuildError, match="its sources define no function __tvm_ffi_absent"):
        c_library("absent", [C("int x;")])


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals of POSIX")
def test_compiler_that_does_not_end_raises_build_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stopping = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    monkeypatch.setenv("CC", shlex.join([sys.executable, "-S", "-c", stopping]))
    monkeypatch.setattr(processor_time, "LEAST_ASLEEP", 0.2)
    monkeypatch.setattr(system_compiler, "COMPILE_SECONDS", 0.01)
    with pytest.raises(BuildError, match=r"region @f: .* did not end"):
        c_library("f", [C("int x;")])
