"""`fix` of a Relax module: each repair gives a module that TVM's passes accept."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab import relax as lab
from byoc_lab.errors import ForeignModuleError
from byoc_lab.relax.ir.calls import region_functions

from ..test_executable import two_regions
from ..test_partition import const, module, var
from ..tracing.networks import relax, tvm

op = relax.op


def network() -> Any:
    """relu and softmax of a matmul, with floor, which DNNL does not support, between them."""
    return module(
        [var("x", 4, 8)],
        lambda emit, x: emit(
            op.nn.softmax(emit(op.floor(emit(op.nn.relu(emit(op.matmul(x, const(8, 3))))))))
        ),
    )


def composed() -> Any:
    """The composites of an incomplete partitioning."""
    table = [entry for entry in lab.patterns() if "matmul" in str(entry[0])]
    return relax.transform.FuseOpsByPattern(table, bind_constants=True)(network())


def doubled() -> Any:
    """One body shared by two functions."""
    mod = network()
    mod["decode"] = mod["main"].with_attr("global_symbol", "decode")
    return mod


def codes(mod: Any) -> set[str]:
    return {finding.code for finding in byoc_lab.lint(mod)}


def test_composites_are_assigned_to_a_back_end() -> None:
    assert codes(composed()) == {"BYR001"}
    repair = byoc_lab.fix(composed())
    assert repair and repair.steps == (
        "run MergeCompositeFunctions, which gives 1 composite a back end",
    )
    assert "same numbers for 2 random inputs" in repair.proof
    assert codes(repair.apply()) == set() and not repair.left
    assert codes(repair.undo()) == {"BYR001"}
    assert "composed" in str(repair) or "moved" in str(repair)
    built = lab.build(repair.apply())
    built.run([byoc_lab.relay.const([[0.5] * 8] * 4).data.numpy()])
    built.assert_offloaded()


def test_functions_get_separate_variables() -> None:
    assert codes(doubled()) == {"BYR006"}
    repair = byoc_lab.fix(doubled())
    assert repair.steps == ("give @main separate variables",)
    assert codes(repair.after) == set()
    tvm.ir.assert_structural_equal(repair.after["main"], doubled()["main"])
    assert lab.partition_for_dnnl(repair.after) is not None


def test_composites_of_a_second_function_are_reported_as_left() -> None:
    """MergeCompositeFunctions processes only functions that main calls."""
    mod = composed()
    mod["decode"] = mod["main"].with_attr("global_symbol", "decode")
    assert codes(mod) == {"BYR001", "BYR006"}
    repair = byoc_lab.fix(mod)
    assert repair.steps == (
        "give @main separate variables",
        "run MergeCompositeFunctions, which gives the callees of main a back end",
    )
    assert {f.code for f in repair.left} == codes(repair.after) == {"BYR001"}
    relax.analysis.well_formed(repair.after)
    assert len(region_functions(repair.after)) == 1
    assert "processes only callees of main, and others call composites, too" in repair.proof
    assert not byoc_lab.fix(repair.after).steps


def test_callees_of_a_function_that_main_does_not_call_are_kept() -> None:
    mod = composed()
    composite = next(gv for gv in mod.functions if gv.name_hint.startswith("fused"))
    mod["decode"] = relax.utils.copy_with_new_vars(mod["main"]).with_attr("global_symbol", "decode")
    repaired = byoc_lab.fix(mod).after
    assert composite.name_hint in [gv.name_hint for gv in repaired.functions]
    tvm.ir.assert_structural_equal(repaired["decode"], mod["decode"])


def test_fix_keeps_a_right_module_and_names_what_it_cannot_repair() -> None:
    repair = byoc_lab.fix(network())
    assert not repair and not repair.left and repair.after.same_as(repair.before)
    nameless = [("relu", relax.dpl.is_op("relax.nn.relu")(relax.dpl.wildcard()))]
    mod = relax.transform.FuseOpsByPattern(nameless)(network())
    repair = byoc_lab.fix(mod)
    assert not repair and {f.code for f in repair.left} == {"BYR007"}
    assert "no repair could be proved" in str(repair)


@pytest.mark.parametrize("name", ["bisect", "board", "explain_patterns", "fix", "lint", "trace"])
def test_names_for_both_languages_are_byoc_lab_s_functions(name: str) -> None:
    assert getattr(lab, name) is getattr(byoc_lab, name)
    assert name in lab.__all__


def test_board_refuses_a_relax_module_with_the_conversion() -> None:
    with pytest.raises(ForeignModuleError, match=r"importers\.relax\.from_relax\(mod\)"):
        lab.board(two_regions())
