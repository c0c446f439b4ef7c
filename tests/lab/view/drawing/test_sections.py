"""Sections: a graph of any size is drawn with few boxes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from byoc_lab import relay
from byoc_lab.lab.view.drawing.elements import Box
from byoc_lab.lab.view.drawing.grouping import Edge, Grouping, boxes_of
from byoc_lab.lab.view.drawing.groups import grouped
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.lab.view.drawing.sections import MAX_MEMBERS, SECTIONS, make_sections
from byoc_lab.relay import nn


def chain(operators: int) -> relay.Expr:
    """A chain without repetition: its operators follow the digits of primes."""
    x: relay.Expr = relay.var("data", shape=(8, 8))
    for n in range(operators):
        step = n * n * n % 7
        x = relay.add(x, x) if step == 1 else relay.erf(x) if step % 2 else nn.relu(x)
        x = relay.exp(x) if pow(3, n, 1009) % 2 else x
    return x


@pytest.mark.parametrize("operators", [1000, 4000])
def test_long_graph_is_drawn_as_few_boxes(operators: int) -> None:
    grouping = grouped(picture_of(chain(operators)))
    assert 5 < len(grouping.roots) <= SECTIONS
    labels = [g.label for g in grouping.roots if g.kind == "section"]
    assert labels[1] == f"section 2 of {len(grouping.roots)}"
    assert all(len(group.members) <= MAX_MEMBERS for group in grouping.groups())
    shown = [box for root in grouping.roots for box in boxes_of(root)]
    assert sorted(map(id, shown)) == sorted(map(id, grouping.boxes)), "each box once"
    for box, home in grouping.homes.items():
        assert home is None or box in home.members


def test_short_graph_has_no_sections() -> None:
    grouping = grouped(picture_of(chain(60)))
    assert not [g for g in grouping.groups() if g.kind == "section"]


def test_sections_are_cut_where_few_edges_cross() -> None:
    """Runs of boxes that all use the run's first box; one edge leads to the next run."""
    run, count = 22, 440
    boxes = [Box("op", f"{n // run}.{n % run}") for n in range(count)]
    edges = [Edge(a, b) for a, b in pairwise(boxes)]
    edges += [Edge(boxes[n - n % run], boxes[n]) for n in range(count) if n % run > 1]
    grouping = Grouping(boxes, edges, list(boxes), dict.fromkeys(boxes))
    make_sections(grouping)
    starts = [next(boxes_of(section)).title for section in grouping.roots]
    assert len(starts) > 10
    assert {start.split(".")[1] for start in starts} == {"0"}
