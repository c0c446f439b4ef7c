"""`explain`: planted misses with their causes, and changes that are run again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from byoc_lab import backends
from byoc_lab.lab.explaining import CAUSES, Explanation, explain
from byoc_lab.lab.tracing import trace
from byoc_lab.passes import PassContext
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order
from tests.lab.explaining.planted import ALL, NPU, OTHER, Planted


@pytest.fixture(autouse=True)
def back_ends() -> Iterator[None]:
    backends.register(OTHER, supports=["exp"])
    yield
    for name in (NPU, OTHER):
        backends.register(name)  # takes nothing any more


def explained(miss: Planted) -> Explanation:
    miss.register()
    options = dict(miss.options) or ({"opt_level": miss.level} if miss.level else {})
    with PassContext(**options) if options else nullcontext():
        found = explain(
            miss.module(), miss.target, miss.operator, miss.passes() if miss.passes else None
        )
        assert found, f"no call of {miss.operator}"
        str(found[0])  # computes all of it, under the context
    return found[0]


@pytest.mark.parametrize("miss", ALL, ids=lambda m: m.name)
def test_a_planted_miss_has_its_cause(miss: Planted) -> None:
    found = explained(miss)
    assert not found.offloaded and found.status == "host"
    assert found.cause == miss.cause, str(found)
    assert miss.expected in found.expected and miss.found in found.found, str(found)
    assert miss.nearest in str(found.nearest)
    assert found.reason and (found.path != ()) == (miss.cause == "merge")


@pytest.mark.parametrize("miss", ALL, ids=lambda m: m.name)
def test_a_change_that_is_run_again_offloads_the_call(miss: Planted) -> None:
    change = explained(miss).change
    if miss.change is None:
        assert change is None, str(change)
        return
    assert change is not None and miss.change in str(change), str(change)
    setup = change.setup
    with PassContext(opt_level=setup.opt_level, disabled_pass=setup.disabled):
        again = trace(setup.mod, list(setup.passes)).result
    inside = [
        n.op_name
        for gv, func in again.functions.items()
        if func.attrs.get("Compiler") == miss.target
        for n in post_order(func)
        if isinstance(n, Call)
    ]
    assert change.call.op_name == miss.operator
    assert miss.operator in inside or miss.cause in ("needs-pass", "unbound-constant")


def test_every_cause_is_planted() -> None:
    assert {m.cause for m in ALL} == set(CAUSES)
    assert len(ALL) >= 30
