"""Suggested changes that move other calls from regions to the host: losses are stated or
avoided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from byoc_lab import backends, relay
from byoc_lab.lab.explaining import Explanation, explain
from byoc_lab.lab.explaining.change_runner import ChangeRunner
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.outcome import typed_calls
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.explaining.trials import Trial
from byoc_lab.passes import MergeComposite
from byoc_lab.relay.patterns import DFPattern, is_op, wildcard

TARGET = "lossy"
MODULE = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  tanh(nn.relu(exp(%x)))
}"""


def _chain(*names: str) -> DFPattern:
    value: DFPattern = wildcard()
    for name in names:
        value = is_op(name)(value)
    return value


FIRST = (f"{TARGET}.first", _chain("nn.relu", "tanh"))
THEN = (f"{TARGET}.then", _chain("exp", "nn.relu"))
WHOLE = (f"{TARGET}.whole", _chain("exp", "nn.relu", "tanh"))
ALONE = (f"{TARGET}.alone", _chain("exp"))


@pytest.fixture(autouse=True)
def back_end() -> Iterator[None]:
    backends.register(TARGET, patterns=[FIRST, THEN])
    yield
    backends.unregister(TARGET)


def test_loss_is_stated_if_the_number_of_offloaded_calls_stays_equal() -> None:
    found = explain(relay.parse(MODULE), TARGET)
    exp = found[0]
    assert exp.cause == "order" and exp.change is not None
    assert exp.change.offloaded == (2, 2) and lost(exp, found) == exp.change.lost == 1
    assert str(exp.change) == (
        "move lossy.then before lossy.first in the pattern table "
        "(then the host computes 1 call that it does not now)"
    )


@pytest.mark.parametrize(
    ("tried", "chosen", "left"),
    [
        (["then, first", "whole"], "whole", 0),
        (["then, first", "then", "alone", "whole"], "alone", 0),
        (["then, first", "then"], "then, first", 0),
        (["then, first", "other numbers"], "then, first", 0),
        # the first change has no loss, so no other is tried
        (["alone", "whole", "then, first"], "alone", 2),
    ],
)
def test_change_without_a_loss_is_preferred(tried: list[str], chosen: str, left: int) -> None:
    """Among those, the change that offloads most; the first of several."""
    tables = {
        "then, first": [THEN, FIRST], "then": [THEN], "whole": [WHOLE],
        "other numbers": [WHOLE], "alone": [FIRST, ALONE],
    }  # fmt: skip
    mod, _ = typed_calls(relay.parse(MODULE))
    setup = Setup.asked(mod, TARGET, None)
    outcome = setup.run(TARGET)
    merge = setup.first(MergeComposite)
    assert merge is not None
    trials = iter([
        Trial(
            name, setup.replacing(merge[0], MergeComposite(tables[name])), name,
            keeps_numbers=name != "other numbers",
        )
        for name in tried
    ])  # fmt: skip
    found = ChangeRunner(Inquiry(setup, outcome, {})).first(trials, outcome.calls[0])
    assert found is not None and found.what == chosen
    assert len(list(trials)) == left


def lost(one: Explanation, every: Iterable[Explanation]) -> int:
    """The calls that are on the host only with the change of an explanation."""
    change = one.change
    assert change is not None
    setup = change.setup
    with setup.context:
        again = explain(setup.mod, TARGET, pipeline=list(setup.passes))
    host = {e.call for e in again if e.status == "host"}
    return sum(e.status != "host" and change.calls.get(e.typed, e.typed) in host for e in every)
