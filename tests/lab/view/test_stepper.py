"""The selected node of a stepper, set from Python and from the browser."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import UnknownNodeError
from byoc_lab.lab.view.states import parts
from byoc_lab.lab.view.stepper import Stepper
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order

from .samples import chain, mobilenet


def calls(mod: relay.IRModule, name: str) -> list[Call]:
    return [n for n in post_order(mod["main"]) if isinstance(n, Call) and n.is_op(name)]


@pytest.mark.parametrize("large", [False, True])
def test_selected_node_can_be_read_set_and_observed(
    large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(parts, "MAX_NODES", 10)
    stepper = Stepper(chain())
    seen = []
    stepper.observe(lambda change: seen.append(change["new"]), "selected")
    assert stepper.selected is None
    after = chain()[1].after
    assert after is not None
    relu = calls(after, "nn.relu")[1]
    stepper.selected = relu
    ident = stepper.selected_id
    assert ident
    assert seen == [relu]
    stepper.selected_id = ""  # the browser deselects in this way
    assert stepper.selected is None
    stepper.selected_id = ident
    assert stepper.selected is relu
    stepper.selected = None
    assert stepper.selected_id == ""


def test_selecting_a_node_shows_a_stage_that_contains_it() -> None:
    stepper = Stepper(mobilenet(), index=7)
    norm = calls(mobilenet()[0].before, "nn.batch_norm")[0]
    stepper.selected = norm
    assert stepper.selected is norm
    assert any(n is norm for n in post_order(stepper.stage.before["main"]))


def test_node_of_no_stage_is_refused() -> None:
    stepper = Stepper(chain())
    with pytest.raises(UnknownNodeError, match="is not a node of this trace"):
        stepper.selected = relay.var("elsewhere", shape=(1,))
    assert stepper.selected is None
