"""The contract of a codegen in docs/backends.md: each item of the list has a test of its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab import relax as lab
from byoc_lab.backends import HEADERS, C, ModuleRegion, PythonRegion, c_library, inlined
from byoc_lab.errors import BuildError, RegionError
from byoc_lab.relay import nn
from byoc_lab.relay.dataflow_pattern import is_op, is_tuple, wildcard
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run import evaluate
from byoc_lab.run.build import OffloadWarning
from byoc_lab.run.inline import flattened
from byoc_lab.run.to_relax import to_relax
from tests.compilers import needs_cc
from tests.relax.test_partition import module, var
from tests.relax.test_partition import symbol as size
from tests.relax.tracing.networks import relax, tvm

PAGE = Path(__file__).parents[2] / "docs" / "backends.md"
SUPPORTED = ("nn.relu", "tanh", "exp", "add", "concatenate", "split", "nn.dense", "nn.conv2d")
X = relay.var("x", shape=(2, 4))
DATA = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)
WEIGHT = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
pytestmark = needs_cc


class Recorder:
    """A back end whose codegen records its arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[relay.Function, str]] = []
        self.made: Any = lambda function: lambda *xs: list(evaluate(function, xs).outputs)

    def codegen(self, function: relay.Function, symbol: str) -> Any:
        self.calls.append((function, symbol))
        made = self.made(function)
        return PythonRegion(made) if callable(made) else made

    @property
    def function(self) -> relay.Function:
        """The function that the codegen received in its last call."""
        return self.calls[-1][0]

    def register(self, **options: Any) -> None:
        given = {"supports": SUPPORTED, **options}
        backends.register("npu", codegen=self.codegen, **given)
        lab.register("npu")

    def cut(self, language: str, network: Any, params: Any = None) -> tuple[Any, Any]:
        """A module in the given language, and the same module with regions."""
        mod = byoc_lab.passes.InferType()(byoc_lab.IRModule.from_expr(network))
        if language == "relay":
            return mod, backends.partition(mod, "npu", params)
        of_relax = to_relax(flattened(mod["main"]).main)
        return of_relax, lab.backends.get("npu").partition(of_relax)

    def build(self, language: str, network: Any, params: Any = None) -> Any:
        """Builds a network in the given language."""
        _, cut = self.cut(language, network, params)
        return byoc_lab.build(cut) if language == "relay" else lab.build(cut)


@pytest.fixture
def npu() -> Iterator[Recorder]:
    recorder = Recorder()
    recorder.register()
    yield recorder
    lab.unregister("npu")
    backends.unregister("npu")


both_languages = pytest.mark.parametrize("language", ["relay", "relax"])


@both_languages
def test_types(npu: Recorder, language: str) -> None:
    npu.build(language, nn.relu(nn.dense(X, relay.const(WEIGHT))))
    typed = [n for n in post_order(npu.function.body) if isinstance(n, relay.Call)]
    for node in (*npu.function.params, *typed):
        assert node.checked_type.dtype == "float32" and node.checked_type.concrete_shape


def test_sizes(npu: Recorder) -> None:
    network = nn.relu(relay.var("x", shape=(relay.Any(), 3)))
    exe = npu.build("relay", network)
    assert npu.calls == []
    for rows in (2, 4, 2):
        exe(np.ones((rows, 3), "float32"))
    shapes = [f.params[0].checked_type.concrete_shape for f, _ in npu.calls]
    assert shapes == [(2, 3), (4, 3)]

    rows = var("x", size("n"), 3)
    mod = module([rows], lambda emit, x: emit(relax.op.nn.relu(x)))
    (found,) = byoc_lab.explain(mod, "npu")
    assert not found.offloaded and "the size n is not known" in found.reason


@both_languages
def test_symbol(npu: Recorder, language: str) -> None:
    npu.build(language, nn.relu(relay.sigmoid(relay.tanh(X))))
    (_, first), (_, second) = npu.calls
    assert first != second
    for function, symbol in npu.calls:
        assert re.fullmatch("[A-Za-z_][A-Za-z_0-9]*", symbol)
        assert function.attrs["global_symbol"] == symbol
        assert function.attrs["Compiler"] == "npu"


@both_languages
def test_parameters(npu: Recorder, language: str) -> None:
    npu.build(language, relay.add(X, relay.exp(X)))
    (parameter,) = npu.function.params
    assert isinstance(parameter.checked_type, relay.TensorType)


@both_languages
def test_tuples(npu: Recorder, language: str) -> None:
    if language == "relay":
        pair = relay.var("pair", relay.TupleType([relay.TensorType((2, 4))] * 2))
        with pytest.raises(BuildError, match=r"is a tuple, expected a tensor"):
            npu.build(language, relay.concatenate(pair, 0))
    else:
        pair = relax.Var("pair", tvm.ir.TupleType([var("x", 2, 4).ty] * 2))
        mod = module([pair], lambda emit, pair: emit(relax.op.concat(pair, axis=0)))
        (found,) = byoc_lab.explain(mod, "npu")
        assert not found.offloaded and "the tuple %pair" in found.reason
    joined = is_op("concatenate")(is_tuple([wildcard(), wildcard()]))
    npu.register(patterns=[("npu.concat", joined)], supports=())
    npu.build(language, relay.concatenate([X, relay.sigmoid(X)], 0))
    assert len(npu.function.params) == 2
    assert isinstance(inlined(npu.function).body.args[0], relay.Tuple)


@both_languages
def test_constants(npu: Recorder, language: str) -> None:
    npu.build(language, nn.dense(X, relay.const(WEIGHT)))
    assert len(npu.function.params) == 1
    found = [n for n in post_order(inlined(npu.function).body) if isinstance(n, relay.Constant)]
    np.testing.assert_array_equal(found[0].numpy(), WEIGHT)


@both_languages
def test_weights(npu: Recorder, language: str) -> None:
    network = nn.dense(X, relay.var("w", shape=(3, 4)))
    npu.build(language, network)
    assert len(npu.function.params) == 2
    npu.build("relay", network, {"w": WEIGHT})
    assert len(npu.function.params) == 1


@both_languages
def test_composites(npu: Recorder, language: str) -> None:
    pattern = is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard()))
    npu.register(patterns=[("npu.dense_relu", pattern)], supports=())
    npu.build(language, nn.relu(nn.dense(X, relay.const(WEIGHT))))
    call = npu.function.body
    assert isinstance(call, relay.Call) and call.op.attrs["Composite"] == "npu.dense_relu"
    opened = inlined(npu.function).body
    assert opened.is_op("nn.relu") and opened.args[0].is_op("nn.dense")


@both_languages
def test_attributes(npu: Recorder, language: str) -> None:
    npu.build(language, nn.dense(X, relay.const(WEIGHT)))
    dense = inlined(npu.function).body
    assert dense.attrs.units is None and dense.args[1].checked_type.concrete_shape == (3, 4)
    image = relay.var("x", shape=(1, 3, 8, 8))
    npu.build(language, nn.conv2d(image, relay.const(np.ones((4, 3, 3, 3), "float32"))))
    conv = inlined(npu.function).body
    assert conv.attrs.kernel_size is None and conv.attrs.channels is None
    assert conv.args[1].checked_type.concrete_shape == (4, 3, 3, 3)


@both_languages
def test_one_output(npu: Recorder, language: str) -> None:
    npu.build(language, relay.sigmoid(nn.relu(relay.tanh(X))))
    assert npu.function.body.checked_type == relay.TensorType((2, 4))


def two_outputs() -> Any:
    """A network with a region that has two outputs; one of them is used inside, too."""
    inner = relay.tanh(X)
    return relay.sigmoid(inner), relay.sigmoid(relay.exp(inner))


@both_languages
def test_several_outputs(npu: Recorder, language: str) -> None:
    exe = npu.build(language, relay.Tuple(two_outputs()))
    first, second = npu.function.body.fields
    assert len(npu.calls) == 1
    opened = inlined(npu.function).body.fields
    assert opened[0].is_op("tanh") and opened[1].is_op("exp") and opened[1].args[0] is opened[0]
    assert first.checked_type == second.checked_type == relay.TensorType((2, 4))
    sigmoid = [1 / (1 + np.exp(-v)) for v in (np.tanh(DATA), np.exp(np.tanh(DATA)))]
    for found, wanted in zip(exe(DATA), sigmoid, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@both_languages
def test_regions(npu: Recorder, language: str) -> None:
    npu.made = lambda function: None
    with pytest.raises(BuildError, match=r"returned NoneType .*must return a compiled region"):
        npu.build(language, nn.relu(X))


@both_languages
def test_arrays(npu: Recorder, language: str) -> None:
    npu.made = lambda function: lambda x: (np.tanh(x), np.exp(np.tanh(x)))
    exe = npu.build(language, relay.Tuple(two_outputs()))
    np.testing.assert_allclose(exe(DATA)[0], 1 / (1 + np.exp(-np.tanh(DATA))), rtol=1e-5)
    npu.made = lambda function: lambda x: np.tanh(x)
    exe = npu.build(language, relay.Tuple(two_outputs()))
    with pytest.raises(RegionError, match="returned 1 array, expected 2"):
        exe(DATA)


BUFFERS = """
#include "tensor_argument.h"
int __tvm_ffi_{symbol}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  if (!argument_count(count, 3)) return -1;
  float* x = tensor_argument(args, 0, (int64_t[]){{2, 4}}, 2);
  float* first = tensor_argument(args, 1, (int64_t[]){{2, 4}}, 2);
  float* second = tensor_argument(args, 2, (int64_t[]){{2, 4}}, 2);
  if (!x || !first || !second) return -1;
  for (int i = 0; i < 8; ++i) {{ first[i] = x[i]; second[i] = x[i] + 1; }}
  return 0;
}}
"""


@both_languages
def test_buffers(npu: Recorder, language: str) -> None:
    def compiled(function: relay.Function, symbol: str) -> ModuleRegion:
        library = c_library(symbol, [C(BUFFERS.format(symbol=symbol))], includes=[HEADERS])
        return ModuleRegion(function, symbol, library)

    backends.register("npu", supports=SUPPORTED, codegen=compiled)
    lab.register("npu")
    outputs = npu.build(language, relay.Tuple(two_outputs()))(DATA)
    for found, given in zip(outputs, (DATA, DATA + 1), strict=True):
        np.testing.assert_allclose(found, 1 / (1 + np.exp(-given)), rtol=1e-5)


def test_errors(npu: Recorder) -> None:
    def refuse(function: relay.Function) -> Any:
        raise BuildError("mychip has no relu: leave it to the host")

    npu.made = refuse
    _, cut = npu.cut("relay", nn.relu(X))
    with pytest.raises(BuildError, match="mychip has no relu"):
        byoc_lab.build(cut)
    with pytest.warns(OffloadWarning):
        exe = byoc_lab.build(cut, fallback=True)
    np.testing.assert_array_equal(exe(DATA)[0], np.maximum(DATA, 0))


def chain() -> Any:
    """Three operators and two inputs; the second is used by the last."""
    return relay.add(nn.relu(relay.tanh(X)), relay.var("y", shape=(2, 4)))


def fields(function: relay.Function) -> list[Any]:
    body = function.body
    return list(body.fields) if isinstance(body, relay.Tuple) else [body]


@both_languages
def test_more_outputs(npu: Recorder, language: str) -> None:
    mod, cut = npu.cut(language, chain())
    byoc_lab.validate(mod, cut, detail="operator").check()
    (region, symbol), *_ = npu.calls
    asked = {len(fields(f)) for f, s in npu.calls if s == symbol}
    assert len(fields(region)) == 1 and asked == {1, 3}

    npu.calls.clear()
    npu.made = lambda function: (
        lambda *xs: [
            v + np.float32(len(fields(function)) == 1) for v in evaluate(function, xs).outputs
        ]
    )  # wrong unless somebody looks inside
    byoc_lab.bisect(mod, "npu")
    assert {len(fields(f)) for f, s in npu.calls if s == symbol} == {1, 3}


@both_languages
def test_fewer_parameters(npu: Recorder, language: str) -> None:
    npu.made = lambda function: (
        lambda *xs: [
            v + np.float32(len(fields(function)) == 1) for v in evaluate(function, xs).outputs
        ]
    )
    mod, cut = npu.cut(language, chain())
    byoc_lab.validate(mod, cut, detail="operator")
    assert {len(f.params) for f, _ in npu.calls} == {1, 2}
    for function, _ in npu.calls:
        assert set(function.params) <= set(post_order(function.body))


@both_languages
def test_notes(npu: Recorder, language: str) -> None:
    """-"""
    region = npu.made

    def strict(function: relay.Function) -> Any:
        if len(fields(function)) > 1 or len(function.params) < 2:
            raise ValueError("another region")
        return region(function)

    npu.made = strict
    mod, cut = npu.cut(language, chain())
    report = byoc_lab.validate(mod, cut, detail="operator").check()
    assert any("ValueError: another region" in note for note in report.remarks)
    assert len(report.regions) == 1 and report.regions[0].ok


def test_each_item_of_the_page_has_a_test() -> None:
    _, _, section = PAGE.read_text(encoding="utf-8").partition(
        "\n## What a codegen receives and returns\n"
    )
    items = re.findall(r"^- (?:\*\*(.*?)\.\*\*)?", section, re.M)
    tests = {name.removeprefix("test_").replace("_", " ") for name in globals()}
    assert len(items) > 10 and [i for i in items if i.lower() not in tests] == []
