"""Replaying the rewrites of a pass, round by round."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import replay
from byoc_lab.lab.tracing.replay import nodes_made
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.hook import Event, Round
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import GlobalVar


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


def test_functions_are_renamed_in_one_traversal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One traversal renames all functions; a name changed twice gets the last new name."""
    x = relay.var("x", shape=(2,))
    mod = relay.IRModule()
    names = [relay.GlobalVar(name) for name in "abcd"]
    for gv in names[:2]:
        mod[gv] = relay.Function([x], relay.nn.relu(x))
    mod["main"] = relay.Function([x], names[1](names[0](x)))
    walks: list[int] = []
    rename = relay.IRModule.rename_unchecked

    def counted(self: relay.IRModule, renamed: Mapping[GlobalVar, GlobalVar]) -> None:
        walks.append(len(renamed))
        rename(self, renamed)

    def renamed(old: GlobalVar, new: GlobalVar) -> Event:
        return Event("rename", "", old, new, new.name_hint, None)

    a, b, c, d = names
    monkeypatch.setattr(relay.IRModule, "rename_unchecked", counted)
    found = replay.replay(mod, [renamed(a, c), renamed(b, d)])
    assert walks == [2]
    assert str(found["main"].body) == str(d(c(x)))
    assert found["d"].attrs["global_symbol"] == "d"
    found = replay.replay(mod, [renamed(a, c), renamed(c, d)])
    assert sorted(gv.name_hint for gv in found.functions) == ["b", "d", "main"]
    assert str(found["main"].body) == str(b(d(x)))
