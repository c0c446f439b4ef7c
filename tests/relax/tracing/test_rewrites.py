"""Steps inside FuseOpsByPattern: rewrites of a stage, their folding, provenance and display."""

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
from byoc_lab.relax.checks import EntryCheck
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order

from .drawn import drawn_module, drawn_table
from .networks import SMALL, dataflow, relax, resnet, transform

op = relax.op


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


def test_folding_all_rewrites_gives_the_result_and_each_state_has_one_match_more() -> None:
    stage = byoc_lab.trace(resnet(), "dnnl")["FuseOpsByPattern"]
    assert len(stage.events) > 20
    assert structural_equal(stage.state_after(len(stage.events)), stage.after)
    states = [stage.state_after(n) for n in range(len(stage.events) + 1)]
    assert structural_equal(states[0], stage.before)
    for n, event in enumerate(stage.events):
        same = structural_equal(states[n], states[n + 1])
        assert not same, event


@pytest.mark.parametrize("seed", range(12))
def test_drawn_modules_have_rewrites_that_fold_to_tvms_result(seed: int) -> None:
    draw = random.Random(seed)
    mod, table = drawn_module(draw), drawn_table(draw)
    stage = fusing(mod, table)
    assert bool(stage.events) == stage.changed
    assert structural_equal(stage.state_after(len(stage.events)), stage.after)


def test_nodes_inside_a_function_come_from_those_of_the_match() -> None:
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


def test_a_refusal_of_a_check_is_a_note_with_its_reason() -> None:
    mod = dataflow(lambda emit, x: emit(op.nn.relu(x)))
    relu = is_op("relax.nn.relu")(wildcard())
    check = EntryCheck("npu.relu", lambda context: Refused("it is of rank 2"))
    stage = fusing(mod, [("npu.relu", relu, {}, check)])
    (note,) = stage.notes
    assert not stage.events and not stage.changed
    assert note.rule == "refuse npu.relu" and note.reason.endswith("refuses: it is of rank 2")


def test_a_table_that_the_pass_did_not_run_with_shows_no_rewrites() -> None:
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
