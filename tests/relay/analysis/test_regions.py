"""Regions defined by annotations: membership, merging, and malformed annotations."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.errors import PartitionError
from byoc_lab.relay.analysis.annotations import begin, end
from byoc_lab.relay.analysis.regions import RegionSet

X, Y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))


def function(body: relay.Expr) -> relay.Function:
    return relay.Function([X, Y], body)


def test_region_extends_from_its_begins_to_its_ends() -> None:
    first, second = begin(X, "chip"), begin(Y, "chip")
    total = relay.add(first, second)
    closed = end(total, "chip")
    regions = RegionSet(function(relay.exp(closed)))
    (region,) = regions
    assert region.nodes == {first, second, total, closed}
    assert set(region.inputs) == {first, second}
    assert list(region.outputs) == [closed]
    assert region.target == "chip"
    assert regions.of(total) is region
    assert regions.of(X) is None


def test_ends_separate_regions() -> None:
    inner = end(relay.exp(begin(X, "chip")), "chip")
    outer = end(relay.exp(begin(inner, "chip")), "chip")
    assert len(list(RegionSet(function(outer)))) == 2


def test_merging_moves_nodes_and_removes_inner_results() -> None:
    inner = end(relay.exp(begin(X, "chip")), "chip")
    entered = begin(inner, "chip")
    outer = end(relay.exp(entered), "chip")
    regions = RegionSet(function(outer))
    source, into = regions.of(inner), regions.of(outer)
    assert source is not None and into is not None
    regions.merge(source, into)
    (merged,) = regions
    assert regions.of(inner) is regions.of(outer) is merged
    assert outer in merged.nodes and inner in merged.nodes


NO_REGION = end(X, "chip")
OTHER_TARGET = end(relay.exp(begin(X, "chip")), "other")
PARTLY_OUTSIDE = end(relay.add(begin(X, "chip"), Y), "chip")
MALFORMED = {
    "no-region": (NO_REGION, "closes nothing"),
    "target": (OTHER_TARGET, "opened for chip and is closed for other"),
    "inconsistent": (PARTLY_OUTSIDE, "Arg regions are inconsistent"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_annotations_raise_or_are_reported(kind: str) -> None:
    body, message = MALFORMED[kind]
    with pytest.raises(PartitionError, match=message):
        RegionSet(function(body))
    reported: list[str] = []

    def on_problem(found: str, node: relay.Expr, details: dict[str, Any]) -> None:
        reported.append(found)

    RegionSet(function(body), on_problem)
    assert reported == [kind]
