"""Changes with which calls are lost that were offloaded before."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from byoc_lab import backends, relay
from byoc_lab.lab.explaining import Explanation, explain
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.explaining.random_tables import TARGET, drawn

MODULE = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  tanh(nn.relu(exp(%x)))
}"""


def test_a_loss_is_told_where_as_many_are_offloaded() -> None:
    first = is_op("tanh")(is_op("nn.relu")(wildcard()))
    then = is_op("nn.relu")(is_op("exp")(wildcard()))
    backends.register("lossy", patterns=[("lossy.first", first), ("lossy.then", then)])
    try:
        found = explain(relay.parse(MODULE), "lossy")
        exp = found[0]
        assert exp.cause == "order" and exp.change is not None
        assert exp.change.offloaded == (2, 2) and lost(exp, found, "lossy") == exp.change.lost == 1
        assert str(exp.change) == (
            "move lossy.then before lossy.first in the pattern table "
            "(then the host computes 1 call that it does not now)"
        )
    finally:
        backends.unregister("lossy")


@pytest.mark.parametrize("seed", [500])
def test_a_change_without_a_loss_is_preferred(seed: int) -> None:
    """Swapped operands offload it as well, and a call less than before."""
    case = drawn(seed)
    backends.register(TARGET, supports=case.supports)
    found = explain(case.mod, TARGET, pipeline=case.passes())
    changed = [e for e in found if e.change is not None]
    assert all(lost(e, found, TARGET) == e.change.lost == 0 for e in changed if e.change)
    assert any("make multiply optional" in str(e.change) for e in changed)


def lost(one: Explanation, every: Iterable[Explanation], target: str) -> int:
    """The calls that the host computes with the change of an explanation, and not without it."""
    change = one.change
    assert change is not None
    setup = change.setup
    with setup.context:
        again = explain(setup.mod, target, pipeline=list(setup.passes))
    host = {e.call for e in again if e.status == "host"}
    return sum(e.status != "host" and change.calls.get(e.typed, e.typed) in host for e in every)
