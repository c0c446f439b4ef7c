"""The cost of `reduce`: predicate calls, and the total size of the modules that it tests.

A call takes time in proportion to the number of operators in its module.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.expr import Call, Op
from tests.lab.reducing.networks import chain, operators, tanh_then_sigmoid

LARGE = 5_000


class Counted:
    """A predicate that counts its calls, and the operators in the tested modules."""

    def __init__(self, holds: Callable[[IRModule], bool]):
        self.holds, self.calls, self.operators = holds, 0, 0

    def __call__(self, mod: IRModule) -> bool:
        self.calls += 1
        self.operators += len(operators(mod))
        return self.holds(mod)


@pytest.mark.slow
def test_one_finding_in_5000_operators_costs_two_binary_searches() -> None:
    x = relay.var("x", shape=(2, 4))
    out: relay.Expr = x
    for n in range(LARGE):
        if n == 3_210:
            out = relay.annotation.compiler_begin(out, "dnnl")
        out = relay.nn.relu(out) if n % 2 else relay.add(out, x)
    mod = IRModule.from_expr(out)
    found = byoc_lab.reduce(mod, "finding:BYL002")
    assert len(operators(found.module)) <= 2
    assert found.calls <= 4 * log2(LARGE)


@pytest.mark.parametrize("places", [(10, 20), (10, LARGE - 10), (LARGE // 2, LARGE - 1)])
@pytest.mark.slow
def test_two_operators_far_apart_are_found_in_few_calls(places: tuple[int, int]) -> None:
    counted = Counted(tanh_then_sigmoid)
    found = byoc_lab.reduce(
        chain(LARGE, dict(zip(places, ("tanh", "sigmoid"), strict=True))), counted
    )
    assert operators(found.module) == ["tanh", "sigmoid"]
    assert counted.calls == found.calls <= 10 * log2(LARGE)
    assert counted.operators <= 3 * LARGE * log2(LARGE)


@pytest.mark.slow
def test_cost_of_reduce_grows_nearly_linearly() -> None:
    def cost(length: int) -> int:
        counted = Counted(tanh_then_sigmoid)
        byoc_lab.reduce(chain(length, {length // 3: "tanh", 3 * length // 4: "sigmoid"}), counted)
        return counted.operators

    assert cost(2_000) <= 2.5 * cost(1_000)


@pytest.mark.slow
def test_branches_that_join_again_are_removed_in_chunks() -> None:
    """1,000 blocks with two branches each; the two wanted operators are in different branches."""
    x = relay.var("x", shape=(2, 4))
    out: relay.Expr = x
    for n in range(1_000):
        left = Call(Op.get("tanh" if n == 200 else "nn.relu"), [out])
        right = Call(Op.get("sigmoid" if n == 700 else "abs"), [relay.exp(out)])
        out = left + right
    counted = Counted(tanh_then_sigmoid)
    found = byoc_lab.reduce(IRModule.from_expr(out), counted)
    assert operators(found.module) == ["tanh", "sigmoid"]
    assert counted.calls <= 200 and counted.operators <= 4_000 * 2 * log2(4_000)
