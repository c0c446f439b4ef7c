"""The numbers of regions in the intermediate states of a pass."""

from __future__ import annotations

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import numbering
from byoc_lab.relay.analysis.region_numbers import region_numbers
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.transform import AnnotateTarget, InferType, MergeCompilerRegions, PartitionGraph


def traced() -> byoc_lab.Trace:
    x: relay.Expr = relay.var("x", shape=(2, 3))
    for _ in range(3):
        x = relay.sort(relay.nn.relu(relay.add(relay.nn.relu(x), x)))
    passes = [InferType(), AnnotateTarget("dnnl"), MergeCompilerRegions(), PartitionGraph()]
    return byoc_lab.trace(IRModule.from_expr(x), passes)


def test_root_of_each_round_has_one_number_per_region() -> None:
    seen = 0
    for stage in traced():
        for found in {event.round for event in stage.events if event.round is not None}:
            numbers = stage.numbering.of_round(found)
            assert region_numbers(found.root, numbers) == numbers, stage.name
            seen += len(numbers)
    assert seen


def test_root_that_is_a_copy_of_the_input_keeps_its_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The regions are not searched again."""
    stage = traced()["PartitionGraph"]
    expected = sorted(stage.numbering.before.values())
    found = next(event.round for event in stage.events if event.round is not None)
    monkeypatch.delattr(numbering, "region_numbers")
    assert sorted(stage.numbering.of_round(found).values()) == expected


def test_only_the_root_of_the_first_round_of_a_function_is_unchanged() -> None:
    for stage in traced().stages[1:]:
        rounds = {event.round: event.function for event in stage.events if event.round}
        functions = list(rounds.values())
        for n, found in enumerate(rounds):
            unchanged = stage.provenance.is_unchanged(found)
            assert unchanged is (functions[n] not in functions[:n]), stage.name


def test_state_between_two_rewrites_is_numbered_once() -> None:
    stage = traced()["AnnotateTarget"]
    assert stage.step(2).numbers[1]
    assert stage.step(2).numbers[1] is stage.step(3).numbers[0]
