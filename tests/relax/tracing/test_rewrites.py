"""Steps inside FuseOpsByPattern and MergeCompositeFunctions: their rewrites, folding, provenance
and display."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from tvm.relax.dpl import is_op, wildcard

import byoc_lab
from byoc_lab.backends import Refused
from byoc_lab.lab.view.states.objects import state_and_ids
from byoc_lab.lab.view.states.rewrites import Steps
from byoc_lab.relax.patterns.checks import EntryCheck
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.visit import post_order

from .drawn import drawn_module, drawn_table
from .networks import SMALL, dataflow, relax, resnet, transform

op = relax.op


def all_nodes(mod: Any) -> Any:
    return post_order(*mod.functions.values())


def of_operator(node: Any) -> bool:
    return isinstance(node, Call) and isinstance(node.op, Op)


def fusing(mod: Any, table: Any, **options: Any) -> Any:
    fuse = transform.FuseOpsByPattern(table, **options)
    return byoc_lab.trace(mod, [fuse], patterns=table)[0]


def test_each_match_is_a_rewrite_with_rule_reason_and_parts() -> None:
    conv = is_op("relax.nn.conv2d")(wildcard(), wildcard())
    biased = is_op("relax.nn.relu")(is_op("relax.add")(conv, wildcard()))
    stage = fusing(SMALL, [("npu.conv_relu", biased)])
    added, outlined = stage.events
    assert added.rule == "add function" and added.function.startswith("fused_relax_nn_conv2d")
    assert outlined.rule == "npu.conv_relu" and outlined.function == "main"
    assert "= nn.conv2d" in outlined.reason and "= nn.relu" in outlined.reason
    assert len(outlined.bound) == 3


def test_replaying_all_rewrites_gives_the_result_and_each_state_has_one_match_more() -> None:
    stage = byoc_lab.trace(resnet(), "dnnl")["FuseOpsByPattern"]
    assert len(stage.events) > 20
    assert structural_equal(stage.state_after(len(stage.events)), stage.after)
    states = [stage.state_after(n) for n in range(len(stage.events) + 1)]
    assert structural_equal(states[0], stage.before)
    for n, event in enumerate(stage.events):
        same = structural_equal(states[n], states[n + 1])
        assert not same, event


def merging(mod: Any, table: Any) -> Any:
    passes = [transform.FuseOpsByPattern(table), transform.MergeCompositeFunctions()]
    return byoc_lab.trace(mod, passes)[1]


@pytest.mark.parametrize("seed", range(12))
def test_rewrites_of_merges_in_drawn_modules_replay_to_tvm_s_result(seed: int) -> None:
    draw = random.Random(seed)
    stage = merging(drawn_module(draw), drawn_table(draw))
    assert bool(stage.events) == stage.changed
    assert structural_equal(stage.state_after(len(stage.events)), stage.after)


def test_each_region_is_a_rewrite_and_each_prevented_merge_a_note() -> None:
    stage = byoc_lab.trace(SMALL, "dnnl")["MergeCompositeFunctions"]
    added, outlined, *removed = stage.events
    assert added.rule == "add function" and added.function.endswith("_dnnl")
    assert outlined.rule == "outline" and outlined.reason.startswith("a region of dnnl: dnnl.")
    assert [event.rule for event in removed] == ["remove function"] * 3
    assert [note.rule for note in stage.notes] == ["join region"] * 2
    assert stage.notes[0].reason.endswith("of the same back end")


def test_nodes_in_a_region_come_from_its_composites() -> None:
    stage = byoc_lab.trace(SMALL, "dnnl")["MergeCompositeFunctions"]
    called = {n.op.name: n for n in all_nodes(stage.before) if of_operator(n)}
    for node in filter(of_operator, all_nodes(stage.after)):
        assert stage.origins(node) == (called[node.op.name],)
    assert stage.is_reported


def diamond(emit: Any, x: Any) -> Any:
    """A value outside regions between two that a back end supports."""
    first = emit(op.nn.relu(x))
    return emit(op.add(first, emit(op.erf(first))))


def test_merge_that_would_form_a_cycle_is_a_note_that_names_the_outside_operand() -> None:
    add = is_op("relax.add")(wildcard(), wildcard())
    table = [("a.relu", is_op("relax.nn.relu")(wildcard())), ("a.add", add)]
    stage = merging(dataflow(diamond), table)
    (note,) = stage.notes
    assert (
        note.rule == "keep apart" and "the result of erf, which is computed outside" in note.reason
    )


def test_composites_of_two_back_ends_are_not_merged() -> None:
    mod = dataflow(lambda emit, x: emit(op.nn.gelu(emit(op.nn.relu(x)))))
    table = [(f"{o}.x", is_op(f"relax.nn.{o}")(wildcard())) for o in ("relu", "gelu")]
    (note,) = merging(mod, table).notes
    assert note.reason.endswith("of another back end")


@pytest.mark.parametrize("seed", range(12))
def test_rewrites_in_drawn_modules_replay_to_tvm_s_result(seed: int) -> None:
    draw = random.Random(seed)
    mod, table = drawn_module(draw), drawn_table(draw)
    stage = fusing(mod, table)
    assert bool(stage.events) == stage.changed
    assert structural_equal(stage.state_after(len(stage.events)), stage.after)


def test_nodes_inside_a_function_come_from_the_match() -> None:
    stage = byoc_lab.trace(SMALL, "dnnl")["FuseOpsByPattern"]
    before = {n.op.name: n for n in post_order(stage.before["main"]) if isinstance(n, Call)}
    inside = next(
        n
        for gv, function in stage.after.functions.items()
        if gv.name_hint.startswith("fused_relax_nn_conv2d")
        for n in post_order(function)
        if isinstance(n, Call) and n.op.name == "nn.conv2d"
    )
    assert stage.is_reported
    assert before["nn.conv2d"] in stage.origins(inside)
    assert inside in stage.images(before["nn.conv2d"])
    erf = [n for n in post_order(stage.after["main"]) if isinstance(n, Call)][-1]
    assert stage.origins(erf) == (before["erf"],)


def test_refusal_of_a_check_is_a_note_with_its_reason() -> None:
    mod = dataflow(lambda emit, x: emit(op.nn.relu(x)))
    relu = is_op("relax.nn.relu")(wildcard())
    check = EntryCheck("npu.relu", lambda context: Refused("it is of rank 2"))
    stage = fusing(mod, [("npu.relu", relu, {}, check)])
    (note,) = stage.notes
    assert not stage.events and not stage.changed
    assert note.rule == "refuse npu.relu" and note.reason.endswith("refuses: it is of rank 2")


def test_refusals_of_a_back_end_without_regions_are_notes() -> None:
    mod = dataflow(lambda emit, x: emit(op.nn.relu(emit(op.astype(x, "float64")))))
    stage = byoc_lab.trace(mod, "dnnl")["FuseOpsByPattern"]
    (note,) = stage.notes
    assert not stage.changed and note.rule == "refuse dnnl.relu" and "float64" in note.reason


def test_other_table_than_the_pass_ran_with_shows_no_rewrites() -> None:
    mod = dataflow(lambda emit, x: emit(op.nn.relu(x)))
    fuse = transform.FuseOpsByPattern([("a.relu", is_op("relax.nn.relu")(wildcard()))])
    other = [("a.gelu", is_op("relax.nn.gelu")(wildcard()))]
    assert not byoc_lab.trace(mod, [fuse], patterns=other)[0].events


def test_rewrites_are_saved_loaded_and_on_the_page(tmp_path: Path) -> None:
    traced = byoc_lab.trace(SMALL, "dnnl")
    events = traced["FuseOpsByPattern"].events
    loaded = byoc_lab.load_trace(traced.save(tmp_path / "small.trace"))["FuseOpsByPattern"]
    assert list(map(str, loaded.events)) == list(map(str, events))
    assert structural_equal(loaded.state_after(len(events)), loaded.after)
    steps = Steps(traced, state_and_ids(traced)[1])
    at = traced.stages.index(traced["FuseOpsByPattern"])
    step = steps.step(at, 2, "text")
    assert step["event"]["reason"] == events[1].reason and step["replaced"]
