"""The origins that the view shows for folded constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.view.states.computed import Computed
from byoc_lab.lab.view.states.objects import state_of
from byoc_lab.passes.fold.fold_constant import FoldConstant
from tests.lab.view.samples import chain, mobilenet


def stage_of(state: dict[str, Any], name: str) -> dict[str, Any]:
    return next(stage for stage in state["stages"] if stage["name"] == name)


def test_folded_constant_shows_its_origins() -> None:
    """For the scale and the shift of the first batch norm."""
    state = state_of(mobilenet())
    stage = stage_of(state, "FoldConstant")
    module = state["modules"][stage["after"]]
    said = {
        operator: stage["computed"][module["names"][f"meta[relay.Constant][{n}]"]]
        for n, operator in ((1, "multiply"), (2, "add"))
    }
    for n, operator in ((1, "multiply"), (2, "add")):
        assert any(
            f"{operator}(" in text and f"Constant][{n}]" in text for text, _ in module["lines"]
        )
    norm = next(text for text, _ in state["modules"][0]["lines"] if "nn.batch_norm(" in text)
    assert norm.strip().startswith("%1 = ")
    inverse = "multiply(divide(1.0, sqrt(add(moving_var, 1e-05))), gamma)"
    assert said["multiply"] == (f"moving_var and gamma of nn.batch_norm %1: expand_dims({inverse})")
    assert said["add"] == (
        "moving_mean, moving_var, gamma and beta of nn.batch_norm %1: "
        f"expand_dims(add(multiply(negative(moving_mean), {inverse}), beta))"
    )


def test_constants_that_a_rule_created_have_no_origins() -> None:
    state = state_of(mobilenet())
    assert stage_of(state, "SimplifyInference")["rules"]
    assert stage_of(state, "SimplifyInference")["computed"] == {}
    assert all(stage["computed"] == {} for stage in state_of(chain())["stages"])


def test_constant_folded_twice_shows_its_whole_history() -> None:
    computed = state_of(mobilenet())["stages"][-5:]
    later = [text for stage in computed for text in stage["computed"].values()]
    assert any(text.startswith("weight of nn.conv2d %0; moving_var and gamma of") for text in later)


def test_origin_used_several_times_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve nodes, each used three times, have half a million paths."""
    written: list[Any] = []
    write = Computed._written
    monkeypatch.setattr(Computed, "_written", lambda *given: written.append(1) or write(*given))
    x: Any = relay.const(np.float32(0.5))
    for _ in range(12):
        x = relay.where(relay.const(np.bool_(True)), x, relay.add(x, x))
    y = relay.var("y", shape=(2,))
    trace = byoc_lab.trace(relay.IRModule.from_expr(relay.add(x, y)), [FoldConstant()])
    (text,) = state_of(trace)["stages"][-1]["computed"].values()
    assert text.startswith("where(True, where(True, where(…), add(") and len(written) < 100


def test_number_in_the_origins_is_shown_as_a_number() -> None:
    half = relay.const(np.float32(0.5))
    x = relay.where(relay.const(np.bool_(True)), half, relay.add(half, half))
    mod = relay.IRModule.from_expr(relay.add(x, relay.var("y", shape=(2,))))
    (text,) = state_of(byoc_lab.trace(mod, [FoldConstant()]))["stages"][-1]["computed"].values()
    assert text == "where(True, 0.5, add(0.5, 0.5))"


def test_every_constant_in_a_line_is_a_node() -> None:
    state = state_of(mobilenet())
    for module in state["modules"]:
        found = {name for name in module["names"] if name.startswith("meta[")}
        assert len(found) == len(
            {
                n
                for n in range(500)
                if any(f"meta[relay.Constant][{n}]" in text for text, _ in module["lines"])
            }
        )
