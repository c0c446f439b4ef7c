"""`Reduction`: its text, its HTML for notebooks, and its data."""

from __future__ import annotations

import json

import byoc_lab
from byoc_lab import relay
from tests.lab.reducing.networks import chain, tanh_then_sigmoid


def test_text_has_the_module_and_the_difference() -> None:
    found = byoc_lab.reduce(chain(40, {5: "tanh", 9: "sigmoid"}), tanh_then_sigmoid)
    head, _, rest = str(found).partition("\n\n")
    assert head.splitlines() == [
        f"{found.name}: reduced from 40 operators to 2 with {found.calls} calls of the predicate",
        "no single change makes the module smaller",
    ]
    assert rest.startswith("it holds for:\ndef @main(") and "sigmoid(%0)" in rest
    assert (
        "the nearest module for which the predicate does not hold differs by:\n1 call removed"
        in rest
    )
    assert len(str(found).splitlines()) < 20


def test_html_is_escaped_and_has_the_same_content() -> None:
    shown = byoc_lab.reduce(chain(4, {1: "tanh"}), lambda mod: "tanh" in str(mod))._repr_html_()
    assert "&lt;lambda&gt;" in shown and "<lambda>" not in shown
    assert "tanh(" in shown and "the nearest module for which the predicate does not hold" in shown


def test_data_is_json_with_modules_that_can_be_parsed() -> None:
    found = byoc_lab.reduce(chain(9, {1: "tanh", 2: "sigmoid"}), tanh_then_sigmoid)
    data = json.loads(json.dumps(found.as_dict()))
    typed = [relay.transform.InferType()(relay.parse(data[key])) for key in ("module", "passing")]
    assert [tanh_then_sigmoid(mod) for mod in typed] == [True, False]
    assert data["operators"] == 2 and data["operators_before"] == 9
    assert data["steps"] == list(found.steps) and data["table"] is None


def test_difference_is_from_the_module_to_the_passing_module() -> None:
    found = byoc_lab.reduce(chain(9, {1: "tanh", 2: "sigmoid"}), tanh_then_sigmoid)
    assert found.difference is not None and found.passing is not None
    made = byoc_lab.apply(found.difference, found.module)
    byoc_lab.assert_structural_equal(made, found.passing)
