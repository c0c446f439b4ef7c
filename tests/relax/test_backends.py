"""User-defined back ends on today's TVM: regions computed by Python, in every tool."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from tvm.relax.dpl import is_op, is_tuple_get_item, wildcard
from tvm.relax.transform import FusionPattern

import byoc_lab
from byoc_lab import relax as lab
from byoc_lab.backends import HEADERS, C, ModuleRegion, PythonRegion, Refused, c_library, inlined
from byoc_lab.errors import (
    BuildError,
    OffloadError,
    RegionError,
    UnknownNameError,
)
from byoc_lab.run import evaluate, stand_in
from byoc_lab.run.tvm_runtime import same_structure
from tests.compilers import needs_cc

from .test_partition import const, module, random, symbol, var
from .tracing.networks import relax, tvm

pytestmark = pytest.mark.usefixtures("processes_without_torch")
op = relax.op
MATMUL = is_op("relax.matmul")(wildcard(), wildcard())
LINEAR = is_op("relax.nn.relu")(is_op("relax.add")(MATMUL, wildcard()))
RELAY = byoc_lab.relay.dataflow_pattern.is_op("nn.relu")
TABLE = [("npu.linear_relu", LINEAR), FusionPattern("npu.matmul", MATMUL)]


def exactly(function: Any, symbol: str) -> PythonRegion:
    """Computes a region as the reference does."""
    return PythonRegion(lambda *xs: list(evaluate(function, xs).outputs))


def relu_is_off(function: Any, symbol: str) -> PythonRegion:
    """Computes 0.25 in place of 0, if a region ends with relu."""
    off = inlined(function).body.is_op("nn.relu")
    return PythonRegion(
        lambda *xs: [np.maximum(v, 0.25) if off else v for v in evaluate(function, xs).outputs]
    )


def register(codegen: Any = exactly, **options: Any) -> None:
    lab.register(
        "npu", patterns=TABLE, supports=["nn.softmax", "concat"], codegen=codegen, **options
    )


def network() -> Any:
    def body(emit: Any, x: Any) -> Any:
        hidden = emit(op.add(emit(op.matmul(x, const(8, 16))), const(16)))
        hidden = emit(op.cumsum(emit(op.nn.relu(hidden)), axis=1))
        return emit(op.nn.softmax(emit(op.matmul(hidden, const(16, 10)))))

    return module([var("x", 4, 8)], body)


def plain(mod: Any, x: np.ndarray) -> np.ndarray:
    """LLVM's results for the unpartitioned module."""
    machine = relax.VirtualMachine(tvm.compile(mod, tvm.target.Target("llvm")).mod, tvm.cpu())
    return machine["main"](tvm.runtime.tensor(x)).numpy()


@needs_cc
def test_network_with_python_regions_gives_the_results_of_llvm() -> None:
    register()
    mod, x = network(), random(4, 8)
    traced = byoc_lab.trace(mod, "npu")
    exe = lab.build(traced.result)
    (found,) = exe(x)
    np.testing.assert_allclose(found, plain(mod, x), rtol=1e-5, atol=1e-7)
    exe.assert_offloaded(regions=2)
    assert [(c.compiler, c.calls) for c in exe.cards()] == [("npu", 1), ("npu", 1)]
    report = byoc_lab.validate(mod, traced.result, detail="operator").check()
    assert len(report.regions) == 2 and len(report.operators) >= 2
    assert [str(f) for f in byoc_lab.lint(traced.result)] == []


@needs_cc
def test_mistake_in_a_region_is_found() -> None:
    register(relu_is_off)
    mod = network()
    report = byoc_lab.validate(mod, byoc_lab.trace(mod, "npu").result)
    assert [c.ok for c in report.regions] == [False, True]
    found = byoc_lab.bisect(mod, "npu")
    assert found.stage == "code generation of npu" and "relu" in str(found.region)
    assert found.call is not None and found.call.is_op("nn.relu")
    register()
    assert byoc_lab.bisect(mod, "npu").stage is None


def test_explain_and_coverage_give_host_operators_with_reasons() -> None:
    register()
    found = byoc_lab.explain(network(), "npu")
    assert found.summary == "5 of 6 calls offloaded to npu, 1 on the host (1 no-pattern)"
    assert found.host[0].reason == "no pattern of npu has cumsum"
    covered = byoc_lab.coverage(network(), "npu")
    assert (covered.totals.offloaded, covered.totals.regions) == (5, 2)
    assert "5 of 6 operators" in str(covered)
    missed = module([var("x", 4, 8)], lambda emit, x: emit(op.nn.relu(emit(op.add(x, x)))))
    relu, add = byoc_lab.explain(missed, "npu")[::-1]
    for e in (relu, add):
        assert e.cause == "sub-pattern" and "npu.linear_relu" in e.reason
    assert "must be a call of matmul" in relu.reason


def test_refusing_check_is_the_cause() -> None:
    small = {"nn.relu": lambda call: int(call.args[0].ty.shape[0]) < 4}
    lab.register("npu", supports=small)
    relu = module([var("x", 4, 8)], lambda emit, x: emit(op.nn.relu(x)))
    (found,) = byoc_lab.explain(relu, "npu")
    assert found.cause == "check" and "the check of npu.relu refuses" in found.reason
    statuses = {e.name: e.status for e in byoc_lab.explain_patterns("npu", relu)}
    assert statuses == {"npu.relu": "refused"}
    lab.register("npu", supports={"nn.relu": lambda call: Refused("4 rows are too many")})
    (found,) = byoc_lab.explain(relu, "npu")
    assert found.reason.endswith("the check of npu.relu refuses: 4 rows are too many")


@needs_cc
def test_two_back_ends_compute_regions_of_one_module() -> None:
    register()
    lab.register("dsp", supports=["cumsum"], codegen=exactly)
    mod, x = network(), random(4, 8)
    cut = lab.backends.get("dsp").partition(mod)
    both = lab.backends.get("npu").partition(cut)
    exe = lab.build(both)
    np.testing.assert_allclose(exe(x)[0], plain(mod, x), rtol=1e-5, atol=1e-7)
    assert sorted(c.compiler for c in exe.cards()) == ["dsp", "npu", "npu"]


@needs_cc
def test_c_region_that_fails_raises_region_error() -> None:
    text = """
#include "tensor_argument.h"
int __tvm_ffi_{symbol}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  if (!argument_count(count, 2)) return -1;
  float* x = tensor_argument(args, 0, (int64_t[]){{4, 8}}, 2);
  float* y = tensor_argument(args, 1, (int64_t[]){{4, 8}}, 2);
  if (!x || !y) return -1;
  for (int i = 0; i < 32; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}}
"""

    def compiled(function: Any, symbol: str) -> ModuleRegion:
        library = c_library(symbol, [C(text.format(symbol=symbol))], includes=[HEADERS])
        return ModuleRegion(function, symbol, library)

    lab.register("npu", supports=["nn.relu"], codegen=compiled)
    mod, x = module([var("x", 4, 8)], lambda emit, x: emit(op.nn.relu(x))), random(4, 8)
    byoc_lab.validate(mod, byoc_lab.trace(mod, "npu").result).check()
    text = "int __tvm_ffi_{symbol}(void* s, const void* a, int n, void* r) {{ return -1; }}"
    exe = lab.build(byoc_lab.trace(mod, "npu").result)
    with pytest.raises(RegionError, match=r"its code returned -1, which says that it failed"):
        exe(x)
    lab.register("npu", supports=["nn.relu"], codegen=lambda f, s: PythonRegion(lambda x: x[0]))
    exe = lab.build(byoc_lab.trace(mod, "npu").result)
    with pytest.raises(RegionError, match=r"has shape \(8,\) and dtype float32, expected"):
        exe(x)


@needs_cc
def test_operators_on_unknown_sizes_stay_on_the_host() -> None:
    """The partitioned module can be built."""
    register()
    mod = module([var("x", symbol("n"), 8)], lambda emit, x: emit(op.nn.softmax(x)))
    (found,) = byoc_lab.explain(mod, "npu")
    assert found.cause == "check" and "the size n is not known" in found.reason
    assert "BindSymbolicVars" in found.reason and "BindSymbolicVars" in found.change
    x = random(3, 8)
    np.testing.assert_allclose(lab.build(byoc_lab.trace(mod, "npu").result)(x)[0].sum(), 3, 1e-5)
    known = relax.transform.BindSymbolicVars({"n": 4})(mod)
    assert byoc_lab.explain(known, "npu").offloaded


@needs_cc
def test_operator_without_a_relay_counterpart_stays_on_the_host() -> None:
    scale, zero = relax.const(0.5, "float32"), relax.const(0, "int8")

    def body(emit: Any, x: Any) -> Any:
        return emit(op.dequantize(emit(op.quantize(emit(op.nn.relu(x)), scale, zero)), scale, zero))

    lab.register("npu", supports=["quantize", "dequantize", "nn.relu"], codegen=exactly)
    mod = module([var("x", 4, 8)], body)
    found = byoc_lab.explain(mod, "npu")
    assert [e.name for e in found.offloaded] == ["nn.relu"]
    assert all(e.cause == "check" and "no counterpart of relax." in e.reason for e in found.host)
    lab.build(byoc_lab.trace(mod, "npu").result)(random(4, 8))


@pytest.mark.parametrize("name", ["tensorrt", "cutlass", "cublas", "example_npu"])
def test_tvm_s_tables_partition_and_explain(name: str) -> None:
    found = byoc_lab.explain(network(), name)
    assert found.offloaded and len(found) == 6
    assert all(e.reason for e in found.host)
    assert byoc_lab.trace(network(), name).error is None
    assert byoc_lab.explain_patterns(name, network())
    with pytest.raises((BuildError, OffloadError), match=r"Codegen is not found|Codegen"):
        lab.build(byoc_lab.trace(network(), name).result)


def test_tvm_lists_the_patterns_in_their_order() -> None:
    register()
    found = [p.name for p in relax.backend.get_patterns_with_prefix("npu.")]
    assert found == ["npu.linear_relu", "npu.matmul", "npu.softmax", "npu.concat"]
    register()  # registered again: no pattern twice
    assert len(relax.backend.get_patterns_with_prefix("npu.")) == 4
    lab.unregister("npu")
    assert list(relax.backend.get_patterns_with_prefix("npu.")) == []
    with pytest.raises(UnknownNameError, match="no back end of Relax is named 'npu'"):
        byoc_lab.explain(network(), "npu")


def test_python_exits_normally_with_a_registered_back_end() -> None:
    """TVM still refers to the checks when Python ends."""
    code = (
        "import tvm\nfrom byoc_lab import relax\nfrom tvm.relax.dpl import is_op, wildcard\n"
        "from tvm.relax.transform import FusionPattern\n"
        "entry = FusionPattern('npu.x', is_op('relax.abs')(wildcard()), {}, lambda c: True)\n"
        "relax.register('npu', patterns=[entry], supports={'nn.relu': lambda call: True},\n"
        "               codegen=lambda f, s: None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_cc
def test_operands_and_results_may_be_tuples() -> None:
    register()

    def body(emit: Any, x: Any, y: Any) -> Any:
        joined = emit(op.concat([x, y], axis=0))
        return emit(op.nn.softmax(joined))

    mod = module([var("x", 2, 4), var("y", 3, 4)], body)
    byoc_lab.validate(mod, byoc_lab.trace(mod, "npu").result, detail="operator").check()

    def halves(function: Any, symbol: str) -> PythonRegion:
        return PythonRegion(lambda x: tuple(np.split(x, 2, axis=1)))

    lab.register("npu", supports=["split"], codegen=halves)

    def parts(emit: Any, x: Any) -> Any:
        both = emit(op.split(x, 2, axis=1))
        return emit(op.add(emit(relax.TupleGetItem(both, 0)), emit(relax.TupleGetItem(both, 1))))

    mod = module([var("x", 2, 4)], parts)
    byoc_lab.validate(mod, byoc_lab.trace(mod, "npu").result).check()


def test_result_may_be_a_nested_tuple() -> None:
    """The split in a match is also used outside, so the region returns it, too."""
    first = is_tuple_get_item(is_op("relax.split")(wildcard()), 0)
    table = [("npu.first_relu", is_op("relax.nn.relu")(first))]
    lab.register("npu", patterns=table, codegen=exactly)

    def body(emit: Any, x: Any) -> Any:
        both = emit(op.split(x, 2, axis=1))
        rectified = emit(op.nn.relu(emit(relax.TupleGetItem(both, 0))))
        return emit(op.add(rectified, emit(relax.TupleGetItem(both, 1))))

    mod = module([var("x", 2, 4)], body)
    report = byoc_lab.validate(mod, byoc_lab.trace(mod, "npu").result, detail="operator")
    assert report.check() and [r.name[-8:] for r in report.regions] == [
        "output 0", "output 1", "output 2",
    ]  # fmt: skip
    assert str(byoc_lab.bisect(mod, "npu")).startswith("no difference found")


@needs_cc
def test_missing_text_of_a_relax_back_end_is_on_its_cards_and_reports() -> None:
    sentence = stand_in.in_place_of("libnpu")
    lab.register("npu", patterns=TABLE, codegen=exactly, missing=lambda: sentence)
    exe = lab.build(lab.backends.get("npu").partition(network()))
    assert sentence in exe.stand_ins[0]
    assert all(card.facts.stand_in == sentence for card in exe.cards())


def test_each_operator_counts_for_the_back_end_that_computes_it() -> None:
    lab.register("npu", patterns=TABLE)
    lab.register("dsp", supports=["cumsum"])
    one = lab.backends.get("dsp").partition(network())
    for mod in (one, lab.backends.get("npu").partition(one)):
        assert "4 of 6 calls offloaded to npu, 1 to dsp" in byoc_lab.explain(mod, "npu").summary


@needs_cc
def test_validate_reports_that_its_first_module_calls_functions() -> None:
    register()
    cut = lab.backends.get("npu").partition(network())
    assert "which is not an operator; give the module before" in str(byoc_lab.validate(cut, cut))


def test_trace_and_bisect_take_modules_with_uncalled_functions() -> None:
    lab.register("npu", patterns=TABLE, codegen=exactly)
    mod = network()
    decode = relax.utils.copy_with_new_vars(mod["main"])
    mod["decode"] = decode.with_attr("global_symbol", "decode")
    recorded = byoc_lab.trace(mod, "npu")
    assert [s.name for s in recorded.stages] == [
        s.name for s in byoc_lab.trace(network(), "npu").stages
    ]
    cut = lab.backends.get("npu").partition(mod)
    assert same_structure(recorded.result, cut)
    assert not byoc_lab.bisect(mod, "npu").found


def test_trace_takes_a_tensor_of_unknown_shape() -> None:
    lab.register("npu", supports=["exp"], codegen=exactly)
    x = relax.Var("x", relax.TensorType(ndim=2, dtype="float32"))
    mod = module([x], lambda emit, x: emit(op.exp(x)))
    assert byoc_lab.trace(mod, "npu").error is None
