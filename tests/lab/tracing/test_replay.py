"""Replaying the rewrites of a pass."""

from __future__ import annotations

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import replay
from byoc_lab.lab.tracing.replay import nodes_made
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.hook import Round
from byoc_lab.passes.framework.infer_type import InferType


def test_each_round_is_applied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """PartitionGraph adds a function for each region, between the rewrites of one round."""
    body: relay.Expr = relay.var("x", shape=(8,))
    for _ in range(6):
        body = relay.erf(relay.nn.relu(body))
    passes = [InferType(), AnnotateTarget("dnnl"), PartitionGraph()]
    mod = relay.IRModule.from_expr(body)
    stage = byoc_lab.trace(mod, passes)["PartitionGraph"]
    applied: list[Round] = []

    def counted(found: Round, replaced: replay.Replaced) -> replay.Replaced:
        applied.append(found)
        return nodes_made(found, replaced)

    monkeypatch.setattr(replay, "nodes_made", counted)
    for count in range(len(stage.events)):
        applied.clear()
        stage.state_after(count)
        rounds = {event.round for event in stage.events[:count]} - {None}
        assert len(applied) <= len(rounds), count
    assert applied
