"""Sections: a graph of any size has few boxes."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.lab.view.grouping import boxes_of
from byoc_lab.lab.view.groups import grouped
from byoc_lab.lab.view.picture import picture_of
from byoc_lab.lab.view.sections import MAX_MEMBERS
from byoc_lab.relay import nn


def chain(operators: int) -> relay.Expr:
    """A chain that does not repeat: operators in the order of the digits of primes."""
    x: relay.Expr = relay.var("data", shape=(8, 8))
    for n in range(operators):
        step = n * n * n % 7
        x = relay.add(x, x) if step == 1 else relay.erf(x) if step % 2 else nn.relu(x)
        x = relay.exp(x) if pow(3, n, 1009) % 2 else x
    return x


@pytest.mark.parametrize("operators", [300, 3000])
def test_a_long_graph_is_drawn_as_few_boxes(operators: int) -> None:
    grouping = grouped(picture_of(chain(operators)))
    assert 5 < len(grouping.roots) <= MAX_MEMBERS
    labels = [g.label for g in grouping.groups() if g.kind == "section" and g.parent is None]
    assert labels[1] == f"section 2 of {len(grouping.roots)}"
    assert all(len(group.members) <= MAX_MEMBERS for group in grouping.groups())
    shown = [box for root in grouping.roots for box in boxes_of(root)]
    assert sorted(map(id, shown)) == sorted(map(id, grouping.boxes)), "each box once"
    for box, home in grouping.homes.items():
        assert home is None or box in home.members


def test_a_short_graph_has_no_sections() -> None:
    grouping = grouped(picture_of(chain(60)))
    assert not [g for g in grouping.groups() if g.kind == "section"]


def test_sections_are_cut_where_little_crosses() -> None:
    """Blocks of ten operators that all use the first one: one edge comes out of a block."""
    x: relay.Expr = relay.var("data", shape=(8, 8))
    for n in range(30):
        start = x
        for k in range(10):
            x = relay.add(x, start) if pow(5, 10 * n + k, 1013) % 3 else relay.multiply(x, start)
        x = relay.tanh(x) if pow(3, n, 1009) % 2 else relay.exp(x)
    grouping = grouped(picture_of(x))
    starts = [next(boxes_of(section)).title for section in grouping.roots[1:]]
    assert len(starts) > 5
    assert sum(title in ("tanh", "exp") for title in starts) > 0.8 * len(starts)
