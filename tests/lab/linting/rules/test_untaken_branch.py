"""Lint rule BYL039 untaken-branch."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab import backends, lint, relay, trace
from byoc_lab.lab.linting.rules.untaken_branch import UntakenBranch
from byoc_lab.passes import AnnotateTarget, MergeCompilerRegions, PartitionGraph
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.visit import post_order
from tests.lab.explaining.pieces import NPU
from tests.lab.linting.samples import RuleChecks

T = "Tensor[(4, 4), float32]"
NAMES = ["nn.relu", "add", "tanh", "exp"]


class TestUntakenBranch(RuleChecks):
    rule = UntakenBranch


def module(*lines: str) -> IRModule:
    body = "\n".join(lines)
    return relay.parse(f'#[version = "0.0.5"]\ndef @main(%c: bool, %x: {T}) {{\n{body}\n}}')


BOTH = module("%0 = nn.relu(%x);", "if (%c) { add(tanh(%0), %x) } else { exp(%0) }")
ONE = module("%0 = nn.relu(%x);", "if (%c) { add(tanh(%0), %x) } else { %0 }")
APART = module("if (%c) { nn.relu(tanh(%x)) } else { exp(nn.relu(%x)) }")


@pytest.mark.parametrize(
    ("mod", "merged", "told"),
    [(BOTH, True, 1), (BOTH, False, 0), (ONE, True, 1), (ONE, False, 0), (APART, True, 0)],
)
def test_only_regions_merged_across_branches_are_reported(
    mod: IRModule, merged: bool, told: int
) -> None:
    backends.register(NPU, supports=NAMES)
    passes: list[Any] = [AnnotateTarget(NPU), *[MergeCompilerRegions()] * merged]
    found = lint(trace(mod, passes).result).by_code("BYL039")
    assert len(found) == told
    for finding in found:
        assert "2 operators (1 tanh, 1 add) of one branch of an if" in finding.message
    backends.register(NPU)


def chain(ifs: int) -> IRModule:
    """A chain of `if`s: each value is the relu of the previous one, with or without a tanh."""
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(4,))
    at: relay.Expr = x
    for _ in range(ifs):
        value = relay.nn.relu(at)
        at = relay.If(c, relay.add(relay.tanh(value), x), value)
    return IRModule.from_expr(relay.Function([c, x], at))


def test_work_grows_linearly_with_the_number_of_ifs(monkeypatch: pytest.MonkeyPatch) -> None:
    backends.register(NPU, supports=NAMES)
    visits = 0
    parts = relay.If.parts

    def counted_parts(node: relay.If) -> Any:
        nonlocal visits
        visits += 1
        return parts(node)

    monkeypatch.setattr(relay.If, "parts", counted_parts)

    def work(ifs: int) -> int:
        nonlocal visits
        merged = trace(chain(ifs), [AnnotateTarget(NPU), MergeCompilerRegions()]).result
        visits = 0
        assert len(lint(merged, rules=["BYL039"])) == ifs
        return visits

    assert work(80) <= 2.2 * work(40)
    backends.register(NPU)


def test_region_that_both_branches_call_runs_the_operators_of_both() -> None:
    """Checks the statement of BYL039 on a partitioned module."""
    backends.register(NPU, supports=NAMES)
    passes = [AnnotateTarget(NPU), MergeCompilerRegions(), PartitionGraph()]
    after = trace(BOTH, passes).result
    (region,) = [f for g, f in after.functions.items() if g.name_hint != "main"]
    assert all(f"{name}(" in str(region) for name in NAMES)
    for branch in (after["main"].body.true_branch, after["main"].body.false_branch):
        called = [n.op for n in post_order(branch) if isinstance(n, relay.Call)]
        assert [g.name_hint for g in called] == [region.attrs["global_symbol"]]
    backends.register(NPU)
