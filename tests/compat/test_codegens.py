"""Code generators that scripts register as "relay.ext.<compiler>"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from byoc_lab.compat import relay, transform, tvm
from byoc_lab.compat.runtime.codegens import CODEGEN
from byoc_lab.errors import BuildError
from byoc_lab.run.backends import unregister_backend
from tests.compilers import needs_cc

PACKED = """
#include <stdio.h>
#include <dlpack/dlpack.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvm/runtime/c_backend_api.h>
#ifdef __cplusplus
extern "C"
#endif
TVM_DLL int32_t {symbol}(TVMValue* args, int* codes, int count, TVMValue* out, int* out_code) {{
  DLTensor *a = args[0].v_handle, *b = args[1].v_handle, *c = args[2].v_handle;
  if (codes[0] != 7 || a->strides != NULL || a->byte_offset != 0) return -1;
  if (((float*)a->data)[0] > 100.0f) {{
    TVMAPISetLastError("too large");
    return -1;
  }}
  float* copy = TVMBackendAllocWorkspace(1, 0, 6 * sizeof(float), 2, 32);
  for (int n = 0; n < 6; ++n) copy[n] = ((float*)a->data)[n];
  for (int n = 0; n < 6; ++n) ((float*)c->data)[n] = copy[n] * ((float*)b->data)[n] + 1.0f;
  TVMBackendFreeWorkspace(1, 0, copy);
  return 0;
}}
"""
TYPED = """
#include <tvm/runtime/packed_func.h>
int helper(float*, float*, float*);
static int body(DLTensor* a, DLTensor* b, DLTensor* c) {{
  return helper((float*)a->data, (float*)b->data, (float*)c->data);
}}
TVM_DLL_EXPORT_TYPED_FUNC({symbol}, body);
"""
HELPER = """
int helper(float* a, float* b, float* c) {
  for (int n = 0; n < 6; ++n) c[n] = a[n] * b[n] + 1.0f;
  return 0;
}
"""


@pytest.fixture
def register() -> Iterator[Callable[[str, Callable[..., Any]], None]]:
    """Registers functions of TVM's names; their code generators are forgotten after the test."""
    names: list[str] = []

    def registered(name: str, function: Callable[..., Any]) -> None:
        names.append(name)
        tvm.register_func(name, function, override=True)

    yield registered
    for name in names:
        unregister_backend(name.removeprefix(CODEGEN))


def partitioned(compiler: str) -> Any:
    """x * y + 1 as a region of `compiler`, exp on the host."""
    begin, end = relay.annotation.compiler_begin, relay.annotation.compiler_end
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    out = end(begin(x, compiler) * begin(y, compiler) + begin(relay.const(1.0), compiler), compiler)
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.exp(out)))
    return transform.PartitionGraph()(relay.transform.InferType()(mod))


def built(compiler: str) -> Any:
    lib = relay.build(partitioned(compiler), "llvm")
    return tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))


def check(compiler: str) -> None:
    x, y = np.random.default_rng(0).random((2, 2, 3), np.float32)
    run = built(compiler)
    run.run(x=x, y=y)
    np.testing.assert_allclose(run.get_output(0).numpy(), np.exp(x * y + 1), rtol=1e-5)
    run.executable.assert_offloaded()


@needs_cc
def test_c_codegen_is_linked_and_its_errors_are_raised(register: Any) -> None:
    seen = []

    def generate(function: Any) -> Any:
        seen.append((str(function.attrs.global_symbol), function.attrs["Compiler"]))
        create = tvm._ffi.get_global_func("runtime.CSourceModuleCreate")
        return create(PACKED.format(symbol=seen[0][0]), "c", [seen[0][0]], [])

    register("relay.ext.of_c", generate)
    check("of_c")
    assert seen == [("tvmgen_default_of_c_main_0", "of_c")]
    run = built("of_c")
    with pytest.raises(RuntimeError, match="too large"):
        run.run(x=np.full((2, 3), 101, np.float32), y=np.ones((2, 3), np.float32))


@needs_cc
def test_cpp_codegen_with_a_second_source_is_linked(register: Any) -> None:
    def generate(function: Any) -> Any:
        create = tvm.runtime._ffi_api.CSourceModuleCreate
        symbol = function.attrs["global_symbol"]
        module = create(TYPED.format(symbol=symbol), "cc", [symbol], [])
        module.import_module(create(HELPER, "cpp", [], []))
        return module

    register("relay.ext.of_cpp", generate)
    register("relay.ext.of_cpp.constant_updater", lambda function, symbol: {})
    check("of_cpp")


def test_module_compiled_by_tvm_is_linked(register: Any) -> None:
    def generate(function: Any) -> Any:
        te = tvm.te
        x, y = (te.placeholder((2, 3), "float32", name=n) for n in "xy")
        out = te.compute((2, 3), lambda i, j: x[i, j] * y[i, j] + 1.0)
        symbol = function.attrs.global_symbol
        return tvm.build(
            te.create_prim_func([x, y, out]).with_attr("global_symbol", symbol), "llvm"
        )

    register("relay.ext.of_te", generate)
    check("of_te")


@pytest.mark.parametrize(
    ("create", "words"),
    [
        (lambda c, f: {"name": f}, "returned dict for region @.*_main_0, not a module"),
        (lambda c, f: c(HELPER, "cu"), "written in 'cu'"),
        (lambda c, f: c(HELPER, "c", [], ["w0"]), r"needs the constants w0.*\.constant_updater"),
    ],
)
def test_unlinkable_codegen_result_raises_build_error(
    register: Any, create: Any, words: str
) -> None:
    source = tvm.get_global_func("runtime.CSourceModuleCreate")
    register("relay.ext.of_nothing", lambda function: create(source, function))
    with pytest.raises(BuildError, match=words):
        built("of_nothing")


@needs_cc
def test_codegen_module_without_the_function_raises_build_error(register: Any) -> None:
    source = tvm.get_global_func("runtime.CSourceModuleCreate")
    other = PACKED.format(symbol="other")
    register("relay.ext.of_other", lambda function: source(other, "c", ["other"], []))
    with pytest.raises(BuildError, match="no function __tvm_ffi_tvmgen_default_of_other_main_0"):
        built("of_other")


def test_registered_hooks_that_are_never_called_raise_build_error(register: Any) -> None:
    register("relay.ext.of_hooks.relay_to_tir_func", len)
    with pytest.raises(BuildError, match=r"relay\.ext\.of_hooks\.relay_to_tir_func: registered"):
        built("of_hooks")
