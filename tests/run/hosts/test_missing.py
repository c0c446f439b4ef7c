"""Without the DNNL extension, apache-tvm or a compiler: equal partitions and results, but no
proof of offloading and no times; every display says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.backends import PythonRegion
from byoc_lab.backends.dnnl import native
from byoc_lab.demo import run_demo
from byoc_lab.errors import (
    BuildError,
    MissingDependencyError,
    OffloadError,
    RegionError,
    ValidationError,
)
from byoc_lab.lessons import mobilenet, quantize
from byoc_lab.lessons.cases import fused_ops
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import OffloadWarning, build, tvm_runtime
from byoc_lab.run.stand_in import in_place_of

IMAGE = np.random.RandomState(0).uniform(-1, 1, (1, 3, 16, 16)).astype("float32")
NO_DNNL, NO_TVM = in_place_of("DNNL"), in_place_of("TVM")


@pytest.fixture
def without_dnnl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "available", lambda: False)


@pytest.fixture
def without_tvm(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise MissingDependencyError("this needs apache-tvm")

    monkeypatch.setattr(tvm_runtime, "import_tvm", missing)


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)


@pytest.fixture(params=["tvm", "no tvm"])
def host(request: pytest.FixtureRequest) -> str:
    """The host part of an executable: both kinds, without a C compiler."""
    request.getfixturevalue("without_compiler")
    if request.param == "tvm":
        pytest.importorskip("tvm", reason="apache-tvm is not installed")
        return "llvm"
    request.getfixturevalue("without_tvm")
    return "NumPy"


def partitioned() -> IRModule:
    return byoc_lab.trace(fused_ops.network(), "dnnl").result


def test_numpy_computes_dnnl_regions_and_every_display_says_so(
    without_dnnl: None, host: str
) -> None:
    exe = build(partitioned())
    report = byoc_lab.validate(fused_ops.network(), exe, [IMAGE], detail="operator")
    assert report.ok and len(report.regions) == 1 and len(report.operators) == 1
    assert f"@tvmgen_default_dnnl_main_0: {NO_DNNL}" in str(report)
    assert (f"the host part: {NO_TVM}" in str(report)) == (host == "NumPy")
    (card,) = exe.cards()
    assert (card.ran_on, card.calls, card.offloaded) == ("NumPy", 1, False)
    assert f"ran on NumPy (not on dnnl: {NO_DNNL}), 1 call" in str(card)
    assert NO_DNNL in exe.cards()._repr_html_()
    assert repr(exe).endswith(f" on NumPy; the rest on {host}>")
    assert json.loads(report.to_json())["stand_ins"] == list(exe.stand_ins)
    coverage = byoc_lab.coverage(fused_ops.network(), "dnnl")
    for text in (str(coverage), coverage._repr_html_(), coverage.to_json()):
        assert NO_DNNL in text
    assert NO_DNNL in str(byoc_lab.coverage(fused_ops.network(), ["dnnl", "ccompiler"]))
    found = byoc_lab.bisect(fused_ops.network(), "dnnl", [IMAGE])
    assert not found.found and f"@tvmgen_default_dnnl_main_0: {NO_DNNL}" in str(found)


@pytest.mark.parametrize("name", ["dnnl", "partition_for_dnnl"])
@pytest.mark.parametrize("kind", ["float32", "int8", "mobilenet"])
def test_partitions_do_not_need_the_extension(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*args: Any) -> Any:
        raise AssertionError("a partition asks the extension")

    monkeypatch.setattr(native, "load", asked)
    monkeypatch.setattr(native, "function", asked)
    mod = mobilenet.module(32) if kind == "mobilenet" else fused_ops.network()
    if kind == "int8":
        mod = quantize.quantize(mod, None, [IMAGE])
    found = byoc_lab.trace(mod, name, opt_level=3).result
    assert any(f.attrs.get("Compiler") == "dnnl" for f in found.functions.values())
    assert byoc_lab.coverage(mod, "dnnl", name).totals.offloaded
    assert any(e.offloaded for e in byoc_lab.explain(mod, "dnnl"))


def test_regions_computed_by_numpy_do_not_count_as_offloaded_unless_accepted(
    without_dnnl: None, host: str
) -> None:
    exe = build(partitioned())
    with pytest.raises(OffloadError, match="has not run yet"):
        exe.assert_offloaded(accept_numpy=True)
    exe.run([IMAGE])
    with pytest.raises(OffloadError, match=f"ran on NumPy, not dnnl: {NO_DNNL}"):
        exe.assert_offloaded()
    exe.assert_offloaded(regions=1, min_flops=100_000, min_share=0.9, accept_numpy=True)
    with pytest.raises(OffloadError, match="expected 2 offloaded regions, found 1"):
        exe.assert_offloaded(regions=2, accept_numpy=True)
    left = build(partitioned(), offload=False)
    left.run([IMAGE])
    with pytest.raises(OffloadError, match=f"ran on {host}, not dnnl: build\\(\\) was told not to"):
        left.assert_offloaded(accept_numpy=True)


def test_regions_computed_by_numpy_have_no_times(without_dnnl: None, host: str) -> None:
    exe = build(partitioned())
    with exe.profiling():
        exe.run([IMAGE])
    (card,) = exe.cards()
    assert card.time_us is None and card.gflops is None and not card.contradictions
    timing = exe.time([IMAGE])
    assert f"not timed: @tvmgen_default_dnnl_main_0: {NO_DNNL}" in str(timing)
    for name in ("median", "best", "worst"):
        with pytest.raises(OffloadError, match="no time was measured"):
            getattr(timing, name)


def test_wrong_module_is_found_without_dnnl_and_tvm(without_dnnl: None, host: str) -> None:
    mod = partitioned()
    (gv,) = (g for g in mod.get_global_vars() if g.name_hint != "main")
    function = mod[gv]
    doubled = relay.Function(function.params, function.body + function.body, attrs=function.attrs)
    mod[gv] = doubled
    report = byoc_lab.validate(fused_ops.network(), infer_module(mod), [IMAGE])
    assert [c.ok for c in report.regions] == [True] and not report.ok
    with pytest.raises(ValidationError):
        report.check()


def test_code_generation_refuses_the_same_calls_without_the_extension(without_dnnl: None) -> None:
    x = relay.var("x", shape=(2, 3))
    body = relay.annotation.compiler_end(
        relay.erf(relay.annotation.compiler_begin(x, "dnnl")), "dnnl"
    )
    mod = infer_module(IRModule.from_expr(body))
    mod = byoc_lab.transform.PartitionGraph()(mod)
    with pytest.raises(BuildError, match="DNNL has no counterpart of erf"):
        build(mod)
    with pytest.warns(OffloadWarning, match="runs on the host"):
        assert build(mod, fallback=True).linked[0].compiled is None


def test_isolated_region_computed_by_numpy_does_not_count_as_dnnl_s(without_dnnl: None) -> None:
    codegen = backends.isolated(backends.get("dnnl").codegen)  # type: ignore[arg-type]
    exe = build(partitioned(), backends={"dnnl": codegen})
    exe.run([IMAGE])
    with pytest.raises(OffloadError, match=NO_DNNL):
        exe.assert_offloaded()


# Python regions

Compute = Callable[..., Any]


def python_region(compute: Compute) -> IRModule:
    """exp(x) in a region of `compute`, plus one, added by the host; two results in a tuple."""
    backends.register(
        "toy_missing", supports=["exp"], codegen=lambda f, symbol: PythonRegion(compute)
    )
    x = relay.var("x", shape=(2, 3))
    mod = infer_module(IRModule.from_expr(relay.exp(x) + relay.const(1.0)))
    return backends.partition(mod, "toy_missing")


def test_python_regions_need_neither_tvm_nor_a_compiler(host: str) -> None:
    values = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    try:
        exe = build(python_region(lambda x: x * 2))
        (found,) = exe.run({"x": values})
        np.testing.assert_array_equal(found, values * 2 + 1)
        exe.assert_offloaded(regions=1)
        with exe.profiling():
            exe.run([values])
        (card,) = exe.cards()
        assert (card.calls, card.ran_on) == (2, "toy_missing") and card.call_us
        assert exe.stand_ins == (() if host == "llvm" else (f"the host part: {NO_TVM}",))
        with pytest.raises(RegionError, match="ZeroDivisionError"):
            build(python_region(lambda x: 1 / 0)).run([values])
        with pytest.raises(KeyboardInterrupt):
            build(python_region(_interrupt)).run([values])
    finally:
        backends.unregister("toy_missing")


def _interrupt(x: np.ndarray) -> None:
    raise KeyboardInterrupt


def two_results(symbol: str, count: int) -> IRModule:
    x = relay.var("x", shape=(2, 3))
    inner = relay.Var("p", x.type_annotation)
    fields = [relay.exp(inner), relay.tanh(inner)][:count]
    region = relay.Function([inner], relay.Tuple(fields))
    region = region.with_attr("Compiler", "toy").with_attr("global_symbol", symbol)
    mod = IRModule()
    gv = relay.GlobalVar(symbol)
    mod[gv] = region
    call = relay.Call(gv, [x])
    results = [relay.TupleGetItem(call, n) for n in range(count)]
    mod["main"] = relay.Function([x], relay.Tuple([*results, x]))
    return infer_module(mod)


@pytest.mark.parametrize("count", [1, 2])
def test_region_with_a_tuple_as_result_equals_the_reference(host: str, count: int) -> None:
    def codegen(function: Any, symbol: str) -> Any:
        return PythonRegion(lambda x: (np.exp(x), np.tanh(x))[:count])

    values = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    exe = build(two_results("r0", count), backends={"toy": codegen})
    wanted: Sequence[np.ndarray] = [*(np.exp(values), np.tanh(values))[:count], values]
    for found, expected in zip(exe.run([values]), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_outputs_are_separate_arrays(without_tvm: None) -> None:
    x = relay.var("x", shape=(2, 3))
    exe = build(infer_module(IRModule.from_expr(relay.Function([x], x))))
    values = np.zeros((2, 3), np.float32)
    (found,) = exe.run([values])
    found += 1
    assert (values == 0).all()


def test_tvm_s_global_function_with_the_name_of_a_region_stays() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")
    tvm_ffi.register_global_func("r_missing", lambda: 7, override=True)
    try:
        exe = build(
            two_results("r_missing", 1), backends={"toy": lambda f, s: PythonRegion(np.exp)}
        )
        exe.run([np.zeros((2, 3), np.float32)])
        assert tvm_ffi.get_global_func("r_missing")() == 7
    finally:
        tvm_ffi.registry.remove_global_func("r_missing")


def test_bfloat16_regions_run_in_both_hosts(without_dnnl: None, host: str) -> None:
    x = relay.var("x", shape=(1, 8), dtype="bfloat16")
    mod = infer_module(IRModule.from_expr(relay.nn.relu(x)))
    exe = build(byoc_lab.trace(mod, "dnnl").result)
    assert [r.compiler for r in exe.linked] == ["dnnl"]
    values = np.linspace(-1, 1, 8).reshape(1, 8).astype(x.type_annotation.dtype)
    (found,) = exe.run([values])
    np.testing.assert_array_equal(found, np.maximum(values, 0))


# What needs a compiler


def test_c_region_without_a_compiler_raises_build_error(without_compiler: None) -> None:
    x = relay.var("x", shape=(2, 3))
    mod = infer_module(IRModule.from_expr(relay.nn.relu(x)))
    with pytest.raises(BuildError, match="needs a C compiler, and found none of cc, gcc, clang"):
        build(backends.partition(mod, "ccompiler"))


def test_export_without_tvm_raises_missing_dependency_error(
    without_tvm: None, tmp_path: Any
) -> None:
    exe = build(partitioned(), offload=False)
    with pytest.raises(MissingDependencyError, match="needs apache-tvm"):
        exe.export_library(tmp_path / "net.so")


@pytest.mark.slow
def test_demo_without_dnnl_prints_results_and_no_times(without_dnnl: None, tmp_path: Path) -> None:
    lines: list[str] = []
    assert run_demo(tmp_path / "demo.html", lines.append, image_size=32, repeat=2)
    text = "\n".join(lines)
    assert NO_DNNL in text and "not timed: @" in text
    assert "largest error of the logits" in text and "times as long" not in text
