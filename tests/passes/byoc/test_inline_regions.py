"""InlineRegions inlines refused regions at their calls, and changes nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import partition
from byoc_lab.passes.byoc.inline_regions import InlineRegions
from byoc_lab.relay import nn
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run import evaluate
from tests.passes.framework.test_hook import _check as check_replay

X = np.linspace(-2, 2, 6, dtype="float32").reshape(2, 3)


def regions_of(counts: list[int]) -> IRModule:
    """A chain of relus and additions, cut by erf into regions with these numbers of operators."""
    x: relay.Expr = relay.var("x", shape=(2, 3))
    for count in counts:
        for n in range(count):
            x = nn.relu(x) if n % 2 else x + relay.const(np.float32(0.5))
        x = relay.erf(x)
    return partition(IRModule.from_expr(x), "dnnl")


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 6))
def test_only_refused_regions_are_inlined_and_results_stay(counts: list[int], least: int) -> None:
    mod = regions_of(counts)
    out = InlineRegions("dnnl", lambda f: "is small" if size(f) < least else None)(mod)
    kept = [size(f) for f in out.functions.values() if "Compiler" in f.attrs]
    assert sorted(kept) == sorted(c for c in counts if c >= least)
    (wanted,), (found,) = evaluate(mod, [X]).outputs, evaluate(out, [X]).outputs
    np.testing.assert_array_equal(found, wanted)


def size(function: Function) -> int:
    return byoc_lab.relay.analysis.costs.cost(function).calls


def test_regions_of_another_compiler_stay() -> None:
    mod = regions_of([2, 3])
    assert structural_equal(InlineRegions("npu", lambda f: "must go")(mod), mod)


def test_each_inlined_region_is_an_event_with_its_reason() -> None:
    trace = byoc_lab.trace(regions_of([1, 3]), [InlineRegions("dnnl", lambda f: "must go")])
    (stage,) = trace.stages
    reasons = [e.reason for e in stage.events if e.rule == "inline region"]
    assert len(reasons) == 2 and all(reason.endswith(" must go") for reason in reasons)
    check_replay(trace)
