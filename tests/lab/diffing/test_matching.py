"""Matching finds the true counterpart of each node, also among many with the same operator and
type."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ArgumentError
from byoc_lab.lab.diffing.flow import Flow, label
from byoc_lab.lab.diffing.matching import Correspondence
from byoc_lab.relay import Call, Constant, Expr, IRModule
from byoc_lab.relay.analysis import post_order_visit
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.transform import InferType
from tests import strategies
from tests.sweeps import some

SHAPE = (1, 4, 8, 8)


def _module(body: Expr) -> IRModule:
    return InferType()(IRModule.from_expr(body))


def _pairs(before: IRModule, after: IRModule) -> dict[Expr, Expr]:
    return byoc_lab.diff(before, after).correspondence.to_before


def _calls(mod: IRModule) -> list[Call]:
    return [n for n in post_order(mod["main"].body) if isinstance(n, Call)]


def _branches(count: int, at: int | None, extra: Callable[[Expr], Expr] = relay.abs) -> IRModule:
    """`count` equal branches of three operators; `extra` is inserted into branch `at`."""
    x = relay.var("x", shape=SHAPE)
    ends = []
    for n in range(count):
        first = relay.nn.relu(x)
        inner = extra(first) if n == at else first
        ends.append(relay.tanh(relay.exp(inner)))
    return _module(relay.concatenate(ends, axis=1))


@pytest.mark.parametrize("count", [4, 12])
@pytest.mark.parametrize("at", [0, 2, 3])
def test_equal_branches_are_matched_in_order(count: int, at: int) -> None:
    before, after = _branches(count, None), _branches(count, at)
    theirs = [c for c in _calls(after) if not c.is_op("abs")]
    pairs = _pairs(before, after)
    assert [pairs.get(y) for y in theirs] == _calls(before)
    assert byoc_lab.diff(before, after).summary == "1 call added"
    assert byoc_lab.diff(after, before).summary == "1 call removed"


def test_change_of_one_of_twelve_parallel_relus_is_matched() -> None:
    x = relay.var("x", shape=SHAPE)

    def mod(which: int | None) -> IRModule:
        relus = [relay.clip(x, 0, 6) if n == which else relay.nn.relu(x) for n in range(12)]
        return _module(relay.Tuple(relus))

    before, after = mod(None), mod(7)
    pairs = _pairs(before, after)
    for n, (old, new) in enumerate(zip(before["main"].body, after["main"].body, strict=True)):
        assert pairs.get(new) is (None if n == 7 else old)
    assert byoc_lab.diff(before, after).summary == "1 call added, 1 call removed"


def test_removed_layer_is_recognized_by_its_weights() -> None:
    x = relay.var("x", shape=SHAPE)
    weights = [relay.const(np.full((4, 4, 1, 1), n, "float32")) for n in range(3)]

    def mod(*which: int) -> IRModule:
        value: Expr = x
        for n in which:
            value = relay.nn.relu(relay.nn.conv2d(value, weights[n], channels=4, kernel_size=1))
        return _module(value)

    before, after = mod(0, 1, 2), mod(1, 2)
    pairs = _pairs(before, after)
    assert [pairs[c] for c in _calls(after)] == _calls(before)[2:]
    assert byoc_lab.diff(before, after).summary == "2 calls removed"


def test_swapped_branches_change_only_operands() -> None:
    x = relay.var("x", shape=SHAPE)
    one, two = relay.exp(x), relay.tanh(x)
    before, after = _module(relay.subtract(one, two)), _module(relay.subtract(two, one))
    assert byoc_lab.diff(before, after).summary == "operands of 1 call changed"


@pytest.mark.parametrize("name", ["squeezenet", "mobilenet"])
def test_matching_follows_operators_and_weights_through_the_pipeline(name: str) -> None:
    """Passes after folding keep weights: a call is identified by its operator and by its nearest
    weights, in the order of the data path."""
    network = {"squeezenet": relay.testing.squeezenet, "mobilenet": relay.testing.mobilenet}[name]
    mod, params = network.get_workload()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    stages = byoc_lab.trace(mod, "dnnl").stages
    for stage in [s for s in stages if s.changed][-4:]:
        assert stage.after is not None
        found = byoc_lab.diff(stage.before, stage.after).correspondence
        mine, theirs = _signatures(found.before), _signatures(found.after)
        assert len(set(mine.values())) > 30
        for y, signature in theirs.items():
            assert mine[found.to_before[y]] == signature
            assert found.to_after[found.to_before[y]] is y


def _signatures(flow: Flow) -> dict[Expr, tuple[object, ...]]:
    """For each operator call, its name and the paths to it from the nearest weights."""
    found: dict[Expr, tuple[object, ...]] = {}
    for node in flow.real():
        if isinstance(node, Call) and node.op_name:
            operands = flow.operands(node)
            weights = tuple(p.data.content() for p in operands if isinstance(p, Constant))
            below = tuple(found.get(p) for p in operands) if not weights else ()
            found[node] = (node.op_name, *weights, hash(below))
    return found


@settings(max_examples=some(80))
@given(mod=strategies.modules(), data=st.data())
def test_one_edit_keeps_all_other_pairs(mod: IRModule, data: st.DataObject) -> None:
    """The inserted, removed or changed node is found, except if an equal node exists."""
    calls = [n for n in _nodes(mod) if isinstance(n, Call) and n.op_name in strategies.UNARY]
    if not calls:
        return
    victim = data.draw(st.sampled_from(calls))
    kind = data.draw(st.sampled_from(["insert", "remove"]))

    def edit(pre: Expr, post: Expr) -> Expr:
        if pre is not victim:
            return post
        return relay.round(post) if kind == "insert" else post.args[0]

    edited = mod.copy()
    for gv, function in mod.functions.items():
        edited[gv] = rebuild(function, edit)
    made = byoc_lab.diff(mod, edited)
    assert made.summary == ("1 call added" if kind == "insert" else "1 call removed")
    (change,) = made.changes
    node = change.after if kind == "insert" else change.before
    assert node is not None
    if kind == "insert":
        assert node.is_op("round")
    else:  # an equal node may be reported as removed
        numbers = made.correspondence._numbers
        assert label(node) == label(victim)
        assert numbers[node] == numbers[victim]


def _nodes(mod: IRModule) -> list[Expr]:
    found: list[Expr] = []
    for function in mod.functions.values():
        post_order_visit(function, found.append)
    return found


@pytest.mark.parametrize("name", ["squeezenet", pytest.param("resnet", marks=pytest.mark.slow)])
def test_trace_composes_the_pairs_of_its_stages(name: str) -> None:
    network = {"squeezenet": relay.testing.squeezenet, "resnet": relay.testing.resnet}[name]
    mod, params = network.get_workload()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    trace = byoc_lab.trace(mod, "dnnl")
    made = trace.diff()
    assert made.before is trace.initial
    assert made.after is trace.final
    stages = [stage.diff().correspondence.to_after for stage in trace]
    for x, y in made.correspondence.to_after.items():
        if isinstance(x, Call) and x.op_name:
            node: Expr = x
            for pairs in stages:
                node = pairs[node]
            assert node is y
    convolutions = [n for n in _nodes(trace.initial) if isinstance(n, Call) and "conv" in n.op_name]
    assert all(n in made.correspondence.to_after for n in convolutions)


def test_trace_diffs_two_of_its_stages() -> None:
    mod = _branches(4, None)
    trace = byoc_lab.trace(mod, ["InferType", "ToANormalForm", "ToGraphNormalForm"])
    assert trace.diff("ToANormalForm", "ToGraphNormalForm").summary == "no change"
    assert trace.diff(1, 1).summary == trace[1].diff().summary == "14 lets added"
    with pytest.raises(ArgumentError, match="swap them"):
        trace.diff(2, 1)


def test_only_pairs_next_to_unmatched_nodes_are_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    x: Expr = relay.var("x", shape=SHAPE)
    for _ in range(100):
        x = relay.nn.relu(relay.add(x, x))
    before, after = (IRModule.from_expr(relay.tanh(op(x))) for op in (relay.exp, relay.abs))
    looked: list[Expr] = []
    _near = Correspondence._near

    def near(self: Correspondence, x: Expr, y: Expr) -> Iterator[tuple[Expr, Expr]]:
        looked.append(x)
        return _near(self, x, y)

    monkeypatch.setattr(Correspondence, "_near", near)
    assert len(_pairs(before, after)) > 200
    assert 0 < len(looked) < 10
