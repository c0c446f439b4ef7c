"""MergeCompilerRegions gives TVM 0.16's modules, and states why regions are not merged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import Stage
from byoc_lab.passes import MergeCompilerRegions
from byoc_lab.passes.byoc import merge_compiler_regions as merging
from byoc_lab.relay import Expr, IRModule
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.annotation import compiler_begin, compiler_end
from byoc_lab.relay.ir.visit import post_order
from tests.parity.golden import golden_test
from tests.sweeps import some

test_golden = golden_test("MergeCompilerRegions")


def _in(target: str, op: str, *args: Expr) -> Expr:
    begins = [compiler_begin(a, target) for a in args]
    return compiler_end(relay.Call(relay.Op.get(op), begins), target)


def _stage(net: Expr) -> Stage:
    trace = byoc_lab.trace(IRModule.from_expr(net), ["InferType", MergeCompilerRegions()])
    assert trace.error is None
    return trace[-1]


def test_merge_is_an_event_that_names_the_region() -> None:
    x = relay.var("x", shape=(2,))
    stage = _stage(_in("A", "exp", _in("A", "tanh", x)))
    (event,) = stage.events
    assert event.rule == "join regions"
    assert event.reason == (
        "tanh(...) and its user are both in region 0 of A; its user was in region 1"
    )
    assert not stage.notes


def test_note_shows_the_path_that_prevents_a_merge() -> None:
    x = relay.var("x", shape=(2,))
    first = _in("A", "tanh", x)
    around = _in("B", "exp", first)
    stage = _stage(_in("A", "add", first, around))
    assert not stage.events
    (note,) = stage.notes
    assert note.rule == "keep apart"
    assert isinstance(note.node, relay.Call) and note.node.args[0].args[0].op_name == "tanh"
    assert note.reason == (
        "merging would make a cycle: region 1 of A (add(...)) <- region 2 of B (exp(...)) <- "
        "region 0 of A (tanh(...))"
    )


class _Straightforward(merging._Merger):
    """Follows every dependency, also those that cannot form a cycle."""

    def _path_through_another(self, region: Region, parent: Region) -> list[Region]:
        found, todo = {region}, [region]
        while todo:
            record = self.records[todo.pop()]
            if any(merging._merged(p) is parent for p in record.other_target):
                return [region]
            new = [p for p in record.parents if p not in found and p in self.records]
            found.update(new)
            todo += new
        return []


def _partition(net: Expr) -> set[tuple[str, frozenset[int]]]:
    """The compiler and the nodes (their positions) of each region after merging."""
    func = relay.Function(relay.analysis.free_vars(net), net)
    position = {node: n for n, node in enumerate(post_order(func))}
    regions = merging.merged_regions(func)
    return {(r.target, frozenset(position[n] for n in r.nodes)) for r in regions}


@st.composite
def _annotated(draw: st.DrawFn) -> Expr:
    """A network whose calls are annotated separately, for two or three compilers."""
    values: list[Expr] = [relay.var("x", shape=(2,))]
    for _ in range(draw(st.integers(1, 14))):
        recent = st.sampled_from(values[-6:])
        values.append(_in(draw(st.sampled_from("AABC")), "add", draw(recent), draw(recent)))
    return values[-1]


@settings(max_examples=some(300))
@given(_annotated())
def test_merging_and_exhaustive_search_give_equal_regions(net: Expr) -> None:
    found = _partition(net)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "_Merger", _Straightforward)
        assert _partition(net) == found


def _batch_norms(count: int) -> Expr:
    """Scales and shifts with factors computed by another compiler."""
    value: Expr = relay.var("x", shape=(2,))
    for n in range(count):
        scale = _in("B", "rsqrt", _in("A", "add", relay.var(f"v{n}"), relay.var(f"e{n}")))
        shift = _in("A", "negative", _in("A", "multiply", relay.var(f"m{n}"), scale))
        value = _in("A", "add", _in("A", "multiply", value, scale), shift)
    return value


class _Every(set[Region]):
    def __contains__(self, region: object) -> bool:
        return True


def test_search_takes_a_few_steps_per_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the worst case: a region of a different target reads each region. Otherwise there is no
    search."""
    steps, begin = 0, merging._Merger.__init__

    def feeding(self: Any, regions: Any) -> None:
        begin(self, regions)
        self.feeds_others = _Every()

    def counted(region: Region) -> Region:
        nonlocal steps
        steps += 1
        return merged(region)

    merged = merging._merged
    monkeypatch.setattr(merging, "_merged", counted)
    net = _batch_norms(100)
    merging.merged_regions(relay.Function(relay.analysis.free_vars(net), net))
    assert steps == 0
    monkeypatch.setattr(merging._Merger, "__init__", feeding)
    taken = []
    for count in (100, 200, 400):
        steps = 0
        net = _batch_norms(count)
        merging.merged_regions(relay.Function(relay.analysis.free_vars(net), net))
        taken.append(steps)
    assert taken[2] < 400 * 60
    assert taken[2] - taken[1] < 2.2 * (taken[1] - taken[0])
