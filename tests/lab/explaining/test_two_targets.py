"""explain and coverage for one target, in a pipeline that annotates for two targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from byoc_lab import backends, coverage, explain, relay, trace
from byoc_lab.lab.view import Stepper
from byoc_lab.passes import AnnotateTarget, MergeComposite, PartitionGraph
from byoc_lab.relay.patterns import is_op, wildcard

RELU = is_op("nn.relu")(wildcard())
ADD = is_op("add")(wildcard(), wildcard())


@pytest.fixture(autouse=True)
def two_back_ends() -> Iterator[None]:
    backends.register("one_of_two", supports=["nn.relu"])
    backends.register("two_of_two", supports=["nn.relu", "add"])
    yield
    backends.unregister("one_of_two")
    backends.unregister("two_of_two")


def net() -> relay.IRModule:
    x = relay.var("x", shape=(2, 3))
    return relay.IRModule.from_expr(relay.add(relay.nn.relu(x), relay.const(1.0)))


def steps(targets: list[str], *table: tuple[str, Any]) -> list[Any]:
    merge = [MergeComposite(list(table))] if table else []
    return [*merge, AnnotateTarget(targets), PartitionGraph()]


def test_order_is_not_the_cause_if_only_the_second_target_supports_the_call() -> None:
    asked = steps(["one_of_two", "two_of_two"])
    (add,) = explain(net(), "one_of_two", "add", asked)
    assert add.cause == "no-pattern" and "supports neither add" in add.reason
    (relu,) = explain(net(), "two_of_two", "nn.relu", asked)
    assert relu.cause == "order" and relu.change is not None


def test_target_that_is_not_asked_is_the_cause_for_calls_that_it_supports_alone() -> None:
    relu, add = explain(net(), "one_of_two", pipeline=steps(["misspelt"]))
    assert relu.cause == "name" and relu.change is not None
    assert (
        relu.change.what == "write AnnotateTarget('one_of_two'), not AnnotateTarget(['misspelt'])"
    )
    assert add.cause == "no-pattern" and "supports neither add" in add.reason


@pytest.mark.parametrize("between", [[], [PartitionGraph()]], ids=["annotated", "partitioned"])
def test_each_of_several_annotate_target_passes_uses_its_own_target(between: list[Any]) -> None:
    one, two = AnnotateTarget("one_of_two"), AnnotateTarget("two_of_two")
    asked = [two, *between, one, PartitionGraph()]
    (add,) = explain(net(), "one_of_two", "add", asked)
    assert add.cause == "no-pattern" and "supports neither add" in add.reason
    (relu,) = explain(net(), "one_of_two", "nn.relu", asked)
    assert relu.cause == "order" and relu.change is not None
    expected = "run AnnotateTarget(['one_of_two']) before AnnotateTarget(['two_of_two'])"
    assert relu.change.what == expected


def test_calls_in_regions_of_the_other_target_are_not_counted_as_on_the_host() -> None:
    asked = steps(["one_of_two", "two_of_two"])
    found = explain(net(), "two_of_two", pipeline=asked)
    assert found.summary == "1 of 2 calls offloaded to two_of_two, 1 by one_of_two (1 order)"
    text = str(coverage(net(), "two_of_two", asked))
    assert "by one_of_two, order: 1 call (1 nn.relu)" in text and "on the host" not in text


def test_no_display_counts_calls_of_another_target_as_on_the_host() -> None:
    """Checks text, HTML, figures and the stepper."""
    asked = steps(["one_of_two", "two_of_two"])
    told, counted = (
        explain(net(), "two_of_two", pipeline=asked),
        coverage(net(), "two_of_two", asked),
    )
    for html in (told._repr_html_(), counted._repr_html_()):
        assert ">by one_of_two</td>" in html and "host" not in html
    title = counted.plot().axes[0].get_title()
    assert title == "offloaded, and not offloaded by cause"
    mod = net()
    stepper = Stepper(trace(mod, asked))
    stepper.overlay(explain(mod, "two_of_two", pipeline=asked))
    (reason,) = stepper.overlays["reasons"].values()
    assert reason["place"] == "by one_of_two"
    assert "host" not in str(stepper.overlays)


@pytest.mark.parametrize("targets", [["one_of_two", "two_of_two"], ["two_of_two", "one_of_two"]])
def test_composite_of_another_target_suggests_to_remove_its_entry(
    targets: list[str],
) -> None:
    asked = steps(targets, ("one_of_two.relu", RELU))
    (relu,) = explain(net(), "two_of_two", "nn.relu", asked)
    assert relu.cause == "order" and "put it into one_of_two.relu" in relu.reason
    if targets[0] == "two_of_two":
        assert str(relu.change) == "leave one_of_two.relu out of the pattern table"


def test_patterns_of_another_target_are_not_nearest_patterns() -> None:
    asked = steps(["one_of_two", "two_of_two"], ("two_of_two.add", ADD))
    (add,) = explain(net(), "one_of_two", "add", asked)
    assert add.cause == "no-pattern" and add.nearest is None
