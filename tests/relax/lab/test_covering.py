"""`relax.coverage`: totals equal an independent count, causes equal those of `explain`, and
changes are verified."""

from __future__ import annotations

import json
from typing import Any

import pytest

import byoc_lab
from byoc_lab.errors import ArgumentError
from byoc_lab.relax import build, coverage, explain, partition_for_dnnl
from byoc_lab.relax.ir.calls import region_functions
from byoc_lab.relax.lab.covering import without_small_regions

from ..test_executable import CONV_FLOPS, two_regions
from ..test_partition import block, const, module, random, symbol, var

relax = pytest.importorskip("tvm.relax")
op = relax.op
pytestmark = pytest.mark.native


def uneven() -> Any:
    """conv, relu; erf on the host; relu."""

    def body(emit: Any, x: Any) -> Any:
        y = emit(op.nn.relu(emit(op.nn.conv2d(x, const(4, 4, 3, 3), padding=1))))
        return emit(op.nn.relu(emit(op.erf(y))))

    return module([var("x", 1, 4, 6, 6)], body)


def test_coverage_counts_operators_flops_and_bytes() -> None:
    found = coverage(uneven())
    assert {(r.operators, r.flops, r.bytes) for r in found.regions} == {
        (2, CONV_FLOPS + 144, 2 * 4 * 144),
        (1, 144, 2 * 4 * 144),
    }
    t = found.totals
    assert (t.operators, t.offloaded, t.regions, t.smallest, t.unknown) == (4, 3, 2, 1, 1)
    assert (t.offloaded_flops, t.bytes) == (CONV_FLOPS + 288, 4 * 4 * 144)
    assert "1 call (1 erf), unknown FLOP before the passes" in str(found)
    exe = build(found.result)
    exe(random(1, 4, 6, 6))
    assert exe.cards().offloaded_share == t.share
    exe.assert_offloaded(regions=2, min_flops=t.offloaded_flops)


def test_flops_with_an_unknown_batch_are_given_for_an_assumed_size() -> None:
    mod = module([var("x", symbol("n"), 8)], lambda emit, x: emit(op.nn.relu(x)))
    found = coverage(mod)
    assert found.totals.flops == 2 * 8
    assert found.heading.endswith("; FLOP and bytes are for n = 2")
    assert found.as_dict()["assumed"] == "n = 2" and not coverage(uneven()).assumed


def test_equal_regions_are_counted_for_each_call() -> None:
    def body(emit: Any, x: Any) -> Any:
        for _ in range(3):
            x = emit(op.nn.relu(emit(op.erf(x))))
        return x

    mod = module([var("x", 2, 5)], body)
    found = coverage(mod)
    t = found.totals
    # The relu that is the module's result is a separate function.
    assert (t.operators, t.offloaded, t.regions, t.offloaded_flops) == (6, 3, 2, 30)
    assert t.bytes == 3 * 2 * 4 * 10 and len(explain(mod).offloaded) == 3
    exe = build(found.result)
    exe(random(2, 5))
    assert sorted((c.calls, c.facts.sites) for c in exe.cards()) == [(1, 1), (2, 2)]
    exe.assert_offloaded(min_flops=30)
    assert exe.cards().offloaded_share == t.share


def test_equal_composites_on_the_host_are_counted_once_for_each_call() -> None:
    def body(emit: Any, x: Any) -> Any:
        for _ in range(3):
            x = emit(op.nn.relu(emit(op.erf(x))))
        return emit(op.exp(x))

    table = [("dnnl.relu", relax.dpl.is_op("relax.nn.relu")(relax.dpl.wildcard()))]
    fuse = relax.transform.FuseOpsByPattern(table)
    t = coverage(module([var("x", 2, 5)], body), pipeline=[fuse]).totals
    assert (t.operators, t.offloaded, t.flops) == (7, 0, 40), "erf has no formula"


def test_coverage_and_explain_give_equal_causes() -> None:
    mod = two_regions()
    explained = explain(mod).by_cause
    found = coverage(mod)
    assert {g.cause: g.calls for g in found.host} == {c: len(es) for c, es in explained.items()}
    assert "no-pattern: 1 call (1 cumsum)" in str(found)
    assert json.loads(found.to_json())["host"][0]["names"] == {"cumsum": 1}
    assert "cumsum" in found._repr_html_() and len(found.plot().axes) == 2


def test_minimum_region_size_returns_small_regions_to_the_host() -> None:
    found = coverage(uneven())
    (small,) = [c for c in found.changes if c.what == "regions of at least 2 operators"]
    assert small.totals is not None
    assert (small.totals.regions, small.totals.offloaded, small.totals.operators) == (1, 2, 4)
    pruned = without_small_regions(found.result, 2)
    assert len(region_functions(pruned)) == 1 and len(region_functions(found.result)) == 2


@pytest.mark.slow
def test_passes_with_an_effect_are_listed_as_changes() -> None:
    """Two convolutions and two equal relus, three additions; more operators if batch norms stay."""
    mod = module([var("x", 1, 8, 5, 5)], lambda emit, x: block(emit, x, 8, 3))
    found = coverage(mod)
    conv_flops, others = 2 * 8 * 25 * 8 * 9, 5 * 8 * 25
    assert (found.totals.operators, found.totals.flops) == (7, 2 * conv_flops + others)
    what = {c.what: c.totals for c in found.changes}
    assert what["without FoldBatchnormToConv2D (pass 0)"].operators > 7
    assert what["regions of at least 10 operators"].flops == found.totals.flops
    assert all(totals is None or totals != found.totals for totals in what.values())


def test_coverage_proposes_a_dataflow_block_if_none_exists() -> None:
    x = var("x", 1, 4, 6, 6)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op.nn.relu(x)))
    found = coverage(builder.get())
    assert found.totals.offloaded == 0 and [g.cause for g in found.host] == ["needs-pass"]
    assert found.changes[0].what == "ConvertToDataflow(min_size=1) before it"
    assert found.changes[0].totals is not None and found.changes[0].totals.offloaded == 1


def test_wrong_arguments_raise_argument_error() -> None:
    with pytest.raises(ArgumentError, match="is already a region"):
        coverage(partition_for_dnnl(two_regions()))
    with pytest.raises(ArgumentError, match=r"relax\.coverage takes a module of TVM's Relax"):
        coverage("net")


def test_several_back_ends_are_compared_in_columns() -> None:
    mod = two_regions()
    both = byoc_lab.coverage(mod, ["dnnl", "example_npu"])
    assert [each.backend for each in both] == ["dnnl", "example_npu"]
    assert [each.totals for each in both] == [
        byoc_lab.coverage(mod, name).totals for name in ("dnnl", "example_npu")
    ]


def test_changes_are_tried_on_a_module_with_tensors_of_unknown_shape() -> None:
    """FoldConstant fails for them, so the pipeline and each changed pipeline omit it."""
    x = relax.Var("x", relax.TensorType(None, "float32", ndim=2))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, known := var("y", 2, 3)]):
        with builder.dataflow():
            made = builder.emit(op.nn.relu(known))
            out = builder.emit_output((made, builder.emit(op.nn.relu(x))))
        builder.emit_func_output(out)
    failed = [c.what for c in coverage(builder.get()).changes if c.totals is None]
    assert not {"the pattern table in reverse order", "without FoldBatchnormToConv2D (pass 0)"} & {
        *failed
    }


def test_other_orders_of_given_passes_are_tried() -> None:
    """A region whose operators were replaced by code is not suggested."""
    mod = module([var("x", 2, 5)], lambda emit, x: emit(op.nn.relu(x)))
    found = coverage(mod, pipeline=["LegalizeOps", partition_for_dnnl])
    assert found.totals.offloaded == 0
    what = {c.what: c for c in found.changes}
    assert what["without LegalizeOps (pass 0)"].totals.offloaded == 1
    late = what["partition_for_dnnl before LegalizeOps (pass 0)"]
    assert late.totals is None and "_dnnl has call_tir instead of operators" in str(late)
    table = [("dnnl.relu", relax.dpl.is_op("relax.nn.relu")(relax.dpl.wildcard()))]
    fuse, merge = relax.transform.FuseOpsByPattern(table), relax.transform.MergeCompositeFunctions()
    (warning,) = explain(mod, pipeline=[fuse, "LegalizeOps", merge]).warnings
    assert "has call_tir: a pass such as LegalizeOps replaced its operators by code" in warning
