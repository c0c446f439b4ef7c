"""Matching: types, recursive patterns, long chains."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.relay.patterns import (
    has_dtype,
    has_shape,
    has_type,
    is_op,
    match,
    partition,
    wildcard,
)
from byoc_lab.relay.patterns.grouping import find_groups
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from tests.relay.patterns.chains import RELU, X, chain


@pytest.mark.parametrize("pattern", [
    has_type(relay.TensorType((2, 3), "float32")),
    has_shape((2, 3)),
    has_dtype("float32"),
    wildcard().has_type(relay.TensorType((2, 3), "float32")),
])  # fmt: skip
def test_types_are_inferred_on_demand(pattern: relay.dataflow_pattern.DFPattern) -> None:
    untyped = relay.abs(X)
    assert not untyped.is_typed
    assert match(pattern, untyped)
    assert not match(pattern, relay.op.get("abs"))  # an operator has no type


def test_pattern_may_be_redirected_to_itself() -> None:
    recursive = wildcard()
    recursive.redirect_to(is_op("abs")(recursive) | RELU(wildcard()))
    assert recursive.match(chain(50))
    assert not recursive.match(chain(50, ("abs", "exp")))
    moved = partition(recursive, chain(3))
    assert moved.op.attrs["PartitionedFromPattern"] == "nn.relu_abs_abs_abs_"


def test_endless_recursion_raises_pass_error() -> None:
    recursive = wildcard()
    recursive.redirect_to(is_op("abs")(recursive) | RELU(wildcard()))
    with pytest.raises(PassError, match="redirect"):
        recursive.match(chain(20_000))
    endless = wildcard()
    endless.redirect_to(endless)
    with pytest.raises(PassError, match="redirect"):
        endless.match(X)


def test_dominator_path_may_be_long() -> None:
    n = 5_000
    fuzzy = is_op("exp")(wildcard()).dominates(RELU(wildcard()), is_op("abs")(wildcard()))
    root = relay.exp(chain(n))
    assert fuzzy.match(root)
    group, *others = find_groups(fuzzy, IndexedGraph(root))
    assert not others
    assert len(group.body) == n + 2
    assert group.inputs == [X]
    assert len(group.taken[fuzzy.path]) == n
