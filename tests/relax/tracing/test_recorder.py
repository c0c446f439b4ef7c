"""Traces of TVM's Relax passes: stages, sequences, failures and displays."""

from __future__ import annotations

from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import PassError, UnknownNameError
from byoc_lab.lab.view.drawing.picture import picture_of

from .networks import SMALL, dnnl_passes, resnet, transform, transposed_matmul, tvm


def test_each_pass_is_a_stage_and_the_result_equals_the_pipeline_s() -> None:
    sequence = tvm.transform.Sequential([*dnnl_passes(), transform.LegalizeOps()])
    recorded = byoc_lab.trace(resnet(), sequence)
    assert [s.name for s in recorded] == [
        "FoldBatchnormToConv2D", "DecomposeOps", "FoldConstant", "FuseOpsByPattern",
        "MergeCompositeFunctions", "LegalizeOps",
    ]  # fmt: skip
    assert [s.name for s in recorded if s.changed] == [
        "FuseOpsByPattern", "MergeCompositeFunctions", "LegalizeOps",
    ]  # fmt: skip
    tvm.ir.assert_structural_equal(recorded.result, sequence(resnet()))
    assert recorded.error is None and recorded.versions == {"tvm": tvm.__version__}
    assert recorded.initial.source["main"] is not None
    assert all(s.seconds >= 0 for s in recorded)


def test_text_form_counts_operators_in_regions_and_on_the_host() -> None:
    recorded = byoc_lab.trace(resnet(), "dnnl")
    table = [line.split() for line in str(recorded).splitlines()[2:]]
    counts = {row[1]: tuple(map(int, row[-4:-1])) for row in table}
    # 22 operators: 3 blocks of 5, 2 of the stem, and 5 after them, of which `sum` is on the host.
    assert counts["FoldBatchnormToConv2D"] == (0, 22, 0)
    assert counts["MergeCompositeFunctions"] == (21, 1, 2)


def test_compiled_region_counts_its_operators() -> None:
    recorded = byoc_lab.trace(resnet(), [*dnnl_passes(), "RunCodegen"])
    assert recorded[-1].name == "RunCodegen"
    last = str(recorded).splitlines()[-1].split()
    assert last[-4:-1] == ["21", "1", "2"]
    assert "call_dps_packed" in str(recorded.final)


def test_region_compiled_before_the_trace_counts_with_no_operators() -> None:
    compiled = byoc_lab.trace(SMALL, [*dnnl_passes(), "RunCodegen"]).result
    traced = byoc_lab.trace(compiled, "dnnl")
    stats = picture_of(traced[0].before).stats()
    assert (stats["regions"], stats["offloaded"], stats["host"]) == (1, 0, 1)
    assert isinstance(traced.error, PassError) and "ExternFunc" in str(traced.error)


def test_python_error_raised_through_tvm_is_a_pass_error_and_a_user_s_is_not() -> None:
    without_main = tvm.IRModule({"f": SMALL["main"].with_attr("global_symbol", "f")})
    recorded = byoc_lab.trace(without_main, ["MergeCompositeFunctions"])
    assert isinstance(recorded.error, PassError)
    assert isinstance(recorded.error.__cause__, ValueError)
    recorded = byoc_lab.trace(SMALL, [lambda mod: mod["missing"]])
    assert type(recorded.error) is ValueError


def test_pass_that_fails_ends_the_trace_with_its_error() -> None:
    @tvm.transform.module_pass(opt_level=0, name="Bad")
    def bad(mod: Any, ctx: Any) -> Any:
        raise ValueError("it cannot be done")

    recorded = byoc_lab.trace(SMALL, ["LegalizeOps", bad, "FoldConstant"])
    assert [s.name for s in recorded] == ["LegalizeOps", "Bad"]
    assert isinstance(recorded.error, ValueError) and recorded[-1].error is recorded.error
    assert recorded[-1].after is None and recorded[0].changed
    assert "✖ Bad raised ValueError:\n  it cannot be done" in str(recorded)
    with pytest.raises(ValueError, match="it cannot be done"):
        _ = recorded.result


def test_nested_sequences_give_their_names_to_their_passes() -> None:
    inner = tvm.transform.Sequential([transform.LegalizeOps()], name="lower")
    outer = tvm.transform.Sequential([transform.FoldConstant(), inner], name="all")
    recorded = byoc_lab.trace(SMALL, [outer, transform.DeadCodeElimination()])
    assert [(s.name, s.group) for s in recorded] == [
        ("FoldConstant", "all"), ("LegalizeOps", "lower"), ("DeadCodeElimination", ""),
    ]  # fmt: skip


def test_stages_after_memory_lowering_are_shown() -> None:
    traced = byoc_lab.trace(SMALL, "default")
    assert "VMShapeLower" in str(traced) and not traced.findings


def test_passes_of_a_named_pipeline_are_stages() -> None:
    names = [s.name for s in byoc_lab.trace(SMALL, "zero")]
    assert {"LegalizeOps", "FuseOps", "FoldConstant"} <= set(names)


def test_functions_are_passes_and_may_change_the_given_module() -> None:
    def drop(mod: Any) -> Any:
        mod.update_func(mod.get_global_var("main"), SMALL["main"].with_attr("seen", 1))
        return mod

    recorded = byoc_lab.trace(SMALL.clone(), [drop, "DeadCodeElimination"])
    assert recorded[0].name == "drop" and recorded[0].changed
    assert "seen" not in str(recorded.initial) and "seen" in str(recorded[0].after)


def test_thirty_passes_share_unchanged_functions() -> None:
    recorded = byoc_lab.trace(SMALL, [transform.DeadCodeElimination() for _ in range(30)])
    assert len(recorded) == 30 and not any(s.changed for s in recorded)
    assert len({s.after.functions[gv] for s in recorded for gv in s.after.functions}) == 1
    assert len({id(line.node) for s in recorded for line in s.after.lines if line.node}) == 5


def test_progress_and_context_settings_are_passed_on() -> None:
    seen: list[str] = []
    with tvm.transform.PassContext(opt_level=1, disabled_pass=["FoldConstant"]):
        recorded = byoc_lab.trace(
            SMALL, ["FoldConstant", "LegalizeOps"], title="mine", progress=seen.append
        )
    assert [s.name for s in recorded] == ["LegalizeOps"] and recorded.title == "mine"
    assert seen


def test_invalid_pipeline_is_refused_with_the_reason() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'LegalizeOps'"):
        byoc_lab.trace(SMALL, "LegalizOps")
    with pytest.raises(PassError, match="needs arguments"):
        byoc_lab.trace(SMALL, "FuseOpsByPattern")
    with pytest.raises(PassError, match="a pass of TVM, a name, a function from module to"):
        byoc_lab.trace(SMALL, 3)
    with pytest.raises(PassError, match="found <class"):
        byoc_lab.trace(SMALL, [transform.FusionPattern])
    with pytest.raises(PassError, match="has no passes"):
        byoc_lab.trace(SMALL, [])
    with pytest.raises(PassError, match="era="):
        byoc_lab.trace(SMALL, "dnnl", era="0.16")
    of_relay = relay.IRModule.from_expr(relay.nn.relu(relay.var("x", shape=(1, 3))))
    with pytest.raises(PassError, match="patterns are only for Relax modules"):
        byoc_lab.trace(of_relay, patterns=[("a.b", None)])


def test_operators_of_an_uncalled_private_function_are_not_counted() -> None:
    """FuseTransposeMatmul leaves the private function that it replaced."""
    recorded = byoc_lab.trace(transposed_matmul(), ["FuseTransposeMatmul"])
    assert len(recorded.result.functions) == 3
    assert picture_of(recorded[0].before).stats()["host"] == 2
    assert picture_of(recorded[0].after).stats()["host"] == 1


def test_operators_of_a_second_exported_function_are_counted() -> None:
    mod = transposed_matmul()
    copied = tvm.relax.utils.copy_with_new_vars(mod["main"])
    mod["decode"] = copied.with_attr("global_symbol", "decode")
    assert picture_of(byoc_lab.trace(mod, ["FoldConstant"])[0].before).stats()["host"] == 4
