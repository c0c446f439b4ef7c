"""Lint rule BYL036 odd-answer: explain and explain_patterns report such a return value, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from byoc_lab import backends, lint, relay
from byoc_lab.errors import PredicateError
from byoc_lab.lab.explaining import explain, explain_patterns
from byoc_lab.lab.linting import Severity
from byoc_lab.lab.linting.rules.odd_answer import OddAnswer
from byoc_lab.passes import AnnotateTarget, MergeComposite
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


@pytest.mark.parametrize("by_backend", [False, True])
def test_check_that_raises_is_one_finding_in_every_pipeline(by_backend: bool) -> None:
    table = [entry("relu", is_op("nn.relu")(wildcard()), lambda root: root.attrs.kernel)]
    backends.register(NPU, patterns=table)
    merge, annotate = MergeComposite(table), AnnotateTarget(NPU)
    pipelines: list[Any] = [NPU, [merge], [merge, annotate], [merge, "InferType", merge, annotate]]
    for pipeline in [None] if by_backend else pipelines:
        (found,) = lint(NET, pipeline, NPU if by_backend else None)
        assert (found.code, found.severity) == ("BYL036", Severity.ERROR)
        assert f"the check of the pattern '{NPU}.relu' raised AttributeError" in found.message


def test_unusual_return_value_is_reported_once() -> None:
    many = IRModule.from_expr(relay.Tuple([relay.nn.relu(x()), relay.nn.relu(x())]))
    backends.register(NPU, supports={"nn.relu": lambda call: 1})
    assert len(explain(many, NPU).warnings) == 1


def relus(count: int) -> IRModule:
    value: relay.Expr = x()
    for _ in range(count):
        value = relay.nn.relu(value)
    return IRModule.from_expr(value)


def first(count: int, answer: bool) -> Callable[[Any], bool]:
    """A check that gives `answer` for the first `count` matches, and then the opposite."""
    answers = iter([answer] * count)
    return lambda asked: next(answers, not answer)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("answer", [True, False])
def test_check_whose_answer_changes_with_the_count_of_matches_is_reported(
    count: int, answer: bool
) -> None:
    def table() -> list[Any]:
        return [entry("relu", is_op("nn.relu")(wildcard()), first(count, answer))]

    backends.register(NPU, patterns=table())
    found = explain(relus(3), NPU)
    assert len(found.warnings) == 1
    assert f"answered {answer} about nn.relu, and {not answer} when" in found.warnings[0]
    assert len(found.host) == (count if not answer else 3 - count)
    for one in found.host:
        assert (one.cause, one.change) == ("check", None)
        assert one.reason.endswith("its check answers otherwise when it is asked again about the "
                                   "same match")  # fmt: skip
        assert "give one answer" in str(one)
    (reported,) = explain_patterns(table(), relus(3))
    assert reported.status == ("matches" if reported.matches else "refused")
    assert reported.matches == (count if answer else 3 - count)
    assert "in this run; its check answers otherwise" in reported.reason
    backends.register(NPU, patterns=table())
    (finding,) = lint(relus(3), NPU, rules=["BYL036"])
    assert f"answered {answer} about nn.relu, and {not answer} when" in finding.message


def test_predicate_that_counts_its_calls_is_the_cause_without_a_change() -> None:
    backends.register(NPU, supports={"nn.relu": first(2, True)})
    found = explain(relus(3), NPU)
    assert [e.cause for e in found.host] == ["predicate"]
    assert f"the predicate of {NPU} for nn.relu answers otherwise" in found.host[0].reason
    assert found.host[0].change is None


def test_check_that_raises_on_the_second_call_gives_a_warning_with_the_error() -> None:
    answers = iter([True])
    table = [entry("relu", is_op("nn.relu")(wildcard()), lambda root: next(answers))]
    backends.register(NPU, patterns=table)
    (warning,) = explain(NET, NPU).warnings
    assert "answered True about nn.relu, and StopIteration" in warning
