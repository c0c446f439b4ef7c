"""Typical first changes that a learner makes to a back end: each gives a clear result or error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import nbformat
import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, relay, transform
from byoc_lab.backends import HEADERS, C, ModuleRegion, PythonRegion, Refused, c_library
from byoc_lab.errors import BuildError, ByocLabError, PredicateError, RegionError
from byoc_lab.relay.ir.visit import post_order
from tests.notebooks.test_changes import NOTEBOOKS

pytest.importorskip("tvm")
NET = relay.IRModule.from_expr(relay.exp(relay.nn.relu(relay.var("x", shape=(2, 4)))))
X = np.ones((2, 4), np.float32)
KERNEL = """
#include "tensor_argument.h"

int __tvm_ffi_{symbol}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  if (!argument_count(count, 2)) return -1;
  float* x = tensor_argument(args, 0, (int64_t[]){{2, 4}}, 2);
  float* y = tensor_argument(args, 1, (int64_t[]){{2, 4}}, 2);
  if (!x || !y) return -1;
  for (int i = 0; i < 8; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}}
"""


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def region(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda function, symbol: PythonRegion(fn)


def kernel(old: str, new: str) -> Callable[..., Any]:
    """The code generator in notebook 10, with one change."""
    assert old in KERNEL

    def codegen(function: relay.Function, symbol: str) -> ModuleRegion:
        text = KERNEL.replace(old, new).format(symbol=symbol)
        return ModuleRegion(function, symbol, c_library(symbol, [C(text)], includes=[HEADERS]))

    return codegen


def compiled(function: relay.Function, symbol: str) -> Any:
    return c_library(symbol, [C(KERNEL.format(symbol=symbol))], includes=[HEADERS])


@pytest.fixture(autouse=True)
def _chip() -> Iterator[None]:
    backends.register("mychip", supports=["nn.relu"], codegen=region(relu))
    yield
    backends.unregister("mychip")


def run(codegen: Callable[..., Any]) -> list[np.ndarray]:
    """The result of a region with this code generator, in a network with a relu on the chip."""
    partitioned = byoc_lab.trace(NET, "mychip").result
    return byoc_lab.build(partitioned, backends={"mychip": codegen}).run([X])


def test_codegen_of_notebook_09_computes_a_region_with_two_results() -> None:
    cells = nbformat.read(NOTEBOOKS / "09_your_own_back_end.ipynb", as_version=4).cells
    (source,) = (c.source for c in cells if "def numpy_codegen(" in c.source)
    names: dict[str, Any] = {"relay": relay, "np": np, "byoc_lab": byoc_lab}
    names |= {"backends": backends, "transform": transform, "PythonRegion": PythonRegion}
    names |= {"inlined": backends.inlined, "post_order": post_order, "x": relay.var("x", shape=(2, 4))}
    exec(source, names)
    positive = relay.nn.relu(names["x"])
    two = relay.Tuple([relay.exp(positive), relay.floor(positive)])  # floor is on the host
    mod = relay.IRModule.from_expr(two)
    assert byoc_lab.validate(mod, byoc_lab.trace(mod, "mychip").result).ok


def test_unchanged_codegens_compute_the_same() -> None:
    for codegen in (region(relu), kernel("return 0", "return 0")):
        np.testing.assert_allclose(run(codegen)[0], np.exp(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("codegen", "kind", "answer"),
    [
        (region(lambda x: None), RegionError, "returned None, expected Tensor.*is a return missing"),
        (region(lambda x: x[0]), RegionError, r"has shape \(4,\).*expected Tensor\[\(2, 4\)"),
        (region(lambda x: (x, x)), RegionError, "returned 2 arrays, expected 1"),
        (region(lambda x, y: x), RegionError, "its function failed: TypeError: .*'y'"),
        (region(lambda x: 1 / len(())), RegionError, r"test_back_end_changes.py:\d+: ZeroDivision"),
        (region(lambda x: np.maximum(x, 0, out=x)), RegionError, "read-only"),
        (lambda x: relu(x), BuildError, r"2 were given. It is called as codegen\(function, symbol\)"),
        (lambda function, symbol: None, BuildError, "returned NoneType .* must return a compiled"),
        (lambda function, symbol: function.parms, BuildError, "failed for .*AttributeError: .*parms"),
        (compiled, BuildError, r"returned Module .*backends.ModuleRegion\(function, symbol, module\)"),
        (lambda f, s: ModuleRegion(s, f, compiled(f, s)), ByocLabError, "found str, Function, Module"),
        (lambda f, s: c_library(s, C("")), ByocLabError, r"a list such as \[C\(text\)\], found C"),
        (lambda f, s: c_library(s, [KERNEL]), ByocLabError, r"such as \[C\(text\)\], found list"),
        (lambda f, s: c_library(s, [C("")], includes=HEADERS), ByocLabError, "a list of folders"),
        (kernel("  return 0;\n", ""), BuildError, "control reaches end|non-void function"),
        (kernel("x[i] : 0;", "x[i] : 0"), BuildError, "expected"),
        (kernel("int __tvm_ffi_{symbol}", "int {symbol}"), BuildError, "define no function"),
        (kernel("count, 2", "count, 3"), RegionError, "main_0: its code expects 3 tensors, .*found 2"),
        (kernel("2, 4", "4, 2"), RegionError, r"of shape \(4, 2\) on the CPU, found shape \(2, 4\)"),
    ],
)  # fmt: skip
def test_mistake_in_a_code_generator_is_named(
    codegen: Callable[..., Any], kind: type[Exception], answer: str
) -> None:
    with pytest.raises(kind, match=re.compile(answer, re.S)):
        run(codegen)


def test_crash_of_an_isolated_code_generator_raises_region_error() -> None:
    codegen = backends.isolated(kernel("x[i] > 0", "((float*)0)[i] > 0"))
    with pytest.raises(RegionError, match="crashed its process"):
        run(codegen)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda call: "too wide", r"returned a text, 'too wide'.*or Refused\('too wide'\)"),
        (lambda: True, "takes 0 positional arguments"),
        (lambda call: call.attrs.groups, "has no attribute 'groups'"),
    ],
)
def test_mistake_in_a_predicate_is_named(answer: Callable[..., Any], words: str) -> None:
    backends.register("mychip", supports={"nn.relu": answer})
    with pytest.raises(PredicateError, match=words):
        run(region(relu))


def test_refused_reason_is_shown_by_explain() -> None:
    backends.register("mychip", supports={"nn.relu": lambda call: Refused("too wide")})
    assert "too wide" in byoc_lab.explain(NET, "mychip", "nn.relu")[0].reason


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        (lambda mod: byoc_lab.build(mod, backends={"mychp": None}), "did you mean 'mychip'"),
        (lambda mod: byoc_lab.build(mod, {"mychip": relu}), "are given as backends="),
        (lambda mod: byoc_lab.build(mod, offload="no"), "offload must be True or False"),
        (lambda mod: byoc_lab.build(mod)([X]), r"write exe\(a, b\) or exe.run\(\[a, b\]\)"),
        (lambda mod: byoc_lab.build(mod).time([X], repeat="3"), "must be integers"),
        (lambda mod: byoc_lab.validate(mod, [X]), r"write validate\(module, partitioned, inputs\)"),
        (lambda mod: byoc_lab.validate(byoc_lab.build(mod), mod), "must be the module before"),
    ],
)  # fmt: skip
def test_mistake_in_using_a_program_is_named(change: Callable[[Any], object], answer: str) -> None:
    x, y = (relay.var(name, shape=(2, 4)) for name in "xy")
    two = relay.IRModule.from_expr(relay.add(relay.nn.relu(x), y))
    with pytest.raises(ByocLabError, match=answer):
        change(byoc_lab.trace(two, "mychip").result)


def test_report_says_that_nothing_was_offloaded() -> None:
    report = byoc_lab.validate(NET, NET, [X])
    assert report.ok and "no region: nothing is offloaded" in str(report)


def test_type_that_tvm_refuses_gives_an_error_with_the_operator() -> None:
    x = relay.var("x", shape=(2,), dtype="int32")
    with pytest.raises(BuildError, match="^Relax refuses exp: relax.exp requires the input"):
        byoc_lab.build(relay.IRModule.from_expr(relay.exp(x)))
