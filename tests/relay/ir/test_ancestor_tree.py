"""Common ancestors in a tree that grows at its leaves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.relay.ir.ancestor_tree import AncestorTree


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.data())
def test_ancestor_tree_and_step_by_step_search_find_equal_common_ancestors(
    choices: list[int], data: st.DataObject
) -> None:
    """The tree finds them by jumps."""
    tree: AncestorTree = AncestorTree()
    nodes: list = [relay.var(f"n{k}") for k in range(len(choices))]
    parent: dict = {}
    for k, choice in enumerate(choices):
        parent[nodes[k]] = [None, *nodes[:k]][choice % (k + 1)]
        tree.add(nodes[k], parent[nodes[k]])
    some = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=4))

    def line(node):
        found = []
        while node is not None:
            found.append(node)
            node = parent[node]
        return [*found, None]

    shared = set(line(some[0])).intersection(*map(line, some))
    assert tree.common(some) is next(n for n in line(some[0]) if n in shared)
    above = data.draw(st.sampled_from([None, *nodes]))
    for node in nodes:
        path = line(node)
        at = path.index(above) if above in path else 0
        assert tree.below(above, node) is (path[at - 1] if at else None)
