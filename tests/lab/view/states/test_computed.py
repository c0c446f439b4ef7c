"""What constants were computed from."""

from __future__ import annotations

from typing import Any

from byoc_lab.lab.view.states.objects import state_of
from tests.lab.view.samples import chain, mobilenet


def stage_of(state: dict[str, Any], name: str) -> dict[str, Any]:
    return next(stage for stage in state["stages"] if stage["name"] == name)


def test_a_folded_constant_says_what_it_was_computed_from() -> None:
    """The scale and the shift of the first batch norm."""
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


def test_numbers_that_a_rule_put_in_are_not_computed() -> None:
    state = state_of(mobilenet())
    assert stage_of(state, "SimplifyInference")["rules"]
    assert stage_of(state, "SimplifyInference")["computed"] == {}
    assert all(stage["computed"] == {} for stage in state_of(chain())["stages"])


def test_a_constant_that_was_folded_twice_has_its_whole_history() -> None:
    computed = state_of(mobilenet())["stages"][-5:]
    later = [text for stage in computed for text in stage["computed"].values()]
    assert any(text.startswith("weight of nn.conv2d %0; moving_var and gamma of") for text in later)


def test_every_constant_of_a_line_is_a_node() -> None:
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
