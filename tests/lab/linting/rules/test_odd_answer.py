"""Lint rule BYL036 odd-answer: explain and explain_patterns report such a return value, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from byoc_lab import backends, lint, relay
from byoc_lab.errors import PredicateError
from byoc_lab.lab.explaining import explain, explain_patterns
from byoc_lab.lab.linting import Severity
from byoc_lab.lab.linting.rules.odd_answer import OddAnswer
from byoc_lab.relay import IRModule
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.explaining.pieces import NPU, entry, x
from tests.lab.linting.samples import RuleChecks

NET = IRModule.from_expr(relay.nn.relu(x()))
ODD = {
    "relay.const(False)": relay.const(False),
    "[False]": [False],
    "<object object": object(),
    "1": 1,
    "variable %x": relay.var("x"),
}
PLAIN = [True, False, np.bool_(True), np.bool_(False), None, 0, [], backends.Refused("no")]


class TestOddAnswer(RuleChecks):
    rule = OddAnswer


@pytest.fixture(autouse=True)
def back_end() -> Iterator[None]:
    yield
    backends.register(NPU)


def said(answer: Any) -> list[str]:
    """The statements of the tools on the return value of a check, and of a predicate."""
    table = [entry("relu", is_op("nn.relu")(wildcard()), lambda root: answer)]
    backends.register(NPU, patterns=table)
    explained = explain(NET, NPU)
    found = [
        str(explained).splitlines()[1] if explained.warnings else "",
        str(explained.as_dict()["warnings"]),
        explained._repr_html_().replace("&lt;", "<").replace("&#x27;", "'"),
        explain_patterns(table, NET)[0].reason,
        " ".join(f.message for f in lint(NET, NPU)),
    ]
    backends.register(NPU, supports={"nn.relu": lambda call: answer})
    return [*found, str(explain(NET, NPU)), " ".join(f.message for f in lint(NET, NPU))]


@pytest.mark.parametrize("shown", ODD)
def test_unusual_return_value_is_reported_by_every_tool(shown: str) -> None:
    for text in said(ODD[shown]):
        assert f"answered {shown}" in text, text
        assert "neither a bool nor a Refused and counts as True" in text


@pytest.mark.parametrize("answer", PLAIN, ids=repr)
def test_usual_return_values_of_a_check_are_not_reported(answer: object) -> None:
    for text in said(answer):
        assert "counts as True" not in text


def test_return_value_without_a_truth_value_raises_predicate_error() -> None:
    with pytest.raises(PredicateError, match="neither true nor false"):
        said(np.array([True, False]))


def test_predicate_that_raises_is_an_error_finding() -> None:
    backends.register(NPU, supports={"nn.relu": lambda call: call.attrs.axis == 1})
    (found,) = lint(NET, NPU)
    assert (found.code, found.severity) == ("BYL036", Severity.ERROR)
    assert "the predicate of nn.relu raised AttributeError" in found.message


def test_unusual_return_value_is_reported_once() -> None:
    many = IRModule.from_expr(relay.Tuple([relay.nn.relu(x()), relay.nn.relu(x())]))
    backends.register(NPU, supports={"nn.relu": lambda call: 1})
    assert len(explain(many, NPU).warnings) == 1
