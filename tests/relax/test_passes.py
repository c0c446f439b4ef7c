"""TVM passes that fail: byoc_lab raises typed errors that explain the cause."""
# ruff: noqa: N805, SIM108 (TVMScript looks like methods of Python)

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R

import byoc_lab
from byoc_lab.errors import ArgumentError, OffloadError, PassError
from byoc_lab.relax import coverage, explain, partition_for_dnnl
from byoc_lab.relax.passes import applied, said
from byoc_lab.run.tvm_runtime import same_structure

from .tracing.networks import dataflow, relu_module, tensor, tvm

relax = tvm.relax


@I.ir_module
class Branches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2, 4), "float32")) -> R.Tensor(
        (2, 4), "float32"
    ):
        if c:
            y = R.nn.relu(x)
        else:
            y = R.sigmoid(x)
        return y


def test_operators_of_branches_stay_on_the_host_without_dataflow_blocks() -> None:
    change = "run relax.transform.ConvertToDataflow(min_size=1) before"
    assert [(e.name, e.cause, e.change) for e in explain(Branches)] == [
        ("nn.relu", "needs-pass", change),
        ("sigmoid", "needs-pass", change),
    ]
    assert coverage(Branches).totals.offloaded == 0
    traced = byoc_lab.trace(Branches, "dnnl")
    assert traced.error is None and not any(stage.changed for stage in traced)


def test_operators_of_branches_are_offloaded_separately() -> None:
    mod = relax.transform.ConvertToDataflow(1)(Branches)
    assert len(explain(mod).offloaded) == coverage(mod).totals.offloaded == 2
    traced = byoc_lab.trace(mod, "dnnl")
    cut = partition_for_dnnl(mod)
    assert traced.error is None and same_structure(traced.result, cut)
    assert not byoc_lab.lint(cut)
    report = byoc_lab.validate(mod, cut).check()
    assert len(report.outputs) == 1
    assert byoc_lab.bisect(mod, "dnnl").stage is None
    exe = byoc_lab.relax.build(cut)
    x = np.array([[-2, -1, 0, 1], [2, 3, 4, 5]], "float32")
    for chosen, wanted in ((True, np.maximum(x, 0)), (False, 1 / (1 + np.exp(-x)))):
        np.testing.assert_allclose(exe(np.array(chosen), x)[0], wanted, rtol=1e-5)


def test_tvm_pass_that_fails_at_a_branch_gives_a_typed_error() -> None:
    mod = relax.transform.ConvertToDataflow(1)(Branches)
    table = [("dnnl.relu", relax.dpl.is_op("relax.nn.relu")(relax.dpl.wildcard()))]
    merge = relax.transform.MergeCompositeFunctions()
    traced = byoc_lab.trace(mod, [relax.transform.FuseOpsByPattern(table), merge])
    with pytest.raises(PassError, match=r"MergeCompositeFunctions of TVM failed.*from_relax"):
        _ = traced.result
    assert traced[-1].error is traced.error and byoc_lab.decode(traced.error).known


def test_suggested_conversion_of_a_branch_works() -> None:
    from byoc_lab.importers.relax import from_relax

    mod, _ = from_relax(Branches)
    assert byoc_lab.explain(mod, "dnnl").offloaded


def unknown_shape() -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(None, "float32", ndim=2))
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(relax.op.nn.relu(x))
        builder.emit_func_output(out)
    return builder.get()


def test_tensor_of_unknown_shape_stays_on_the_host() -> None:
    (found,) = explain(unknown_shape())
    assert found.cause == "check" and "needs tensors of known shape" in found.reason
    assert coverage(unknown_shape()).totals.offloaded == 0


def test_errors_of_a_tvm_pass_are_decoded() -> None:
    fold = relax.transform.FoldConstant()
    with pytest.raises(PassError, match=r"FoldConstant of TVM failed: emit_te.*Give the shape"):
        applied([fold], unknown_shape(), "a test")


def test_functions_that_main_does_not_call_are_unchanged() -> None:
    mod = relu_module()
    mod["other"] = relu_module("gelu")["main"].with_attr("global_symbol", "other")
    cut = partition_for_dnnl(mod)
    assert same_structure(cut["other"], mod["other"])
    found = {e.name: e for e in explain(mod)}
    assert found["nn.relu"].offloaded
    assert found["nn.gelu"].cause == "other-function" and "main" in found["nn.gelu"].reason


def test_operator_lowered_by_a_pass_suggests_another_order() -> None:
    (found,) = explain(relax.transform.LegalizeOps()(relu_module()))
    assert found.cause == "no-pattern" and "after the partitioning" in found.reason


@pytest.mark.parametrize("ask", [explain, coverage, partition_for_dnnl])
def test_functions_on_operators_refuse_a_module_after_run_codegen(ask: Any) -> None:
    done = relax.transform.RunCodegen()(partition_for_dnnl(relu_module()))
    with pytest.raises(ArgumentError, match="takes a module before RunCodegen"):
        ask(done)


def test_regions_that_run_codegen_compiled_are_counted_and_only_outputs_compared() -> None:
    plain = relu_module()
    exe = byoc_lab.relax.build(relax.transform.RunCodegen()(partition_for_dnnl(plain)))
    report = byoc_lab.validate(plain, exe).check()
    assert report.outputs and not report.regions
    assert "RunCodegen has compiled it" in report.not_compared[0]
    assert "no region" not in str(report) and "not compared: @fused" in str(report)
    (card,) = exe.cards()
    assert card.compiler == "dnnl" and card.calls > 0 and "operator" not in str(card)
    exe.assert_offloaded(regions=1, accept_numpy=True)
    with pytest.raises(
        OffloadError, match=r"the FLOP of 1 region are unknown.*the FLOP of the module are unknown"
    ):
        exe.assert_offloaded(min_flops=1, min_share=0.5, accept_numpy=True)


def test_reason_names_the_operator_of_the_module() -> None:
    builder = relax.BlockBuilder()
    x, w = relax.Var("x", tensor((4, 8), "float16")), relax.Var("w", tensor((8, 16), "float16"))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            out = builder.emit_output(relax.op.matmul(x, w))
        builder.emit_func_output(out)
    (found,) = explain(builder.get())
    assert found.reason.startswith("matmul: argument 0 must be float32 or bfloat16")


def test_error_line_and_advice_are_sentences() -> None:
    cycle = "(depgroup != cur_group) is false: A cyclic dependency detected between the groups lv3"
    told = said(RuntimeError(f"Check failed: {cycle} and lv2 are in.\nmore"))
    assert f"{cycle} and lv2 are in. FuseOpsByPattern matched %lv3" in told and "more" not in told
    assert said(RuntimeError("no such thing.")) == "no such thing."


def test_binding_that_fuse_ops_by_pattern_moved_after_a_use_is_explained() -> None:
    """The module is well-formed; the composite is bound at the position of its last value."""

    def body(emit: Any, x: Any) -> Any:
        value = emit(relax.op.exp(x))
        return emit(relax.op.add(emit(relax.op.tanh(emit(relax.op.nn.relu(value)))), value))

    any_ = relax.dpl.wildcard
    pattern = relax.dpl.is_op("relax.add")(any_(), relax.dpl.is_op("relax.exp")(any_()))
    mod = dataflow(body)
    fused = relax.transform.FuseOpsByPattern([("a.add", pattern)])(mod)
    assert not byoc_lab.lint(mod) and byoc_lab.lint(fused).by_code("BYR005")
    with pytest.raises(Exception, match="memo_") as error:
        relax.transform.MergeCompositeFunctions()(fused)
    assert "FuseOpsByPattern moved the binding after a use" in byoc_lab.decode(error.value).cause
