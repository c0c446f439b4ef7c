"""What a comparison with TVM cannot show: errors, depth, and how patterns are looked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.errors import PassError, UnknownNameError
from byoc_lab.relay.patterns import (
    AltPattern,
    ConstantPattern,
    FunctionPattern,
    VarPattern,
    WildcardPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    match,
    partition,
    wildcard,
)
from byoc_lab.relay.patterns.grouping import find_groups
from byoc_lab.relay.patterns.indexed_graph import DominatorTree, IndexedGraph
from byoc_lab.relay.patterns.patterns import root_operators

X = relay.var("x", shape=(2, 3))
RELU = is_op("nn.relu")


def chain(n: int, ops: tuple[str, ...] = ("abs",)) -> relay.Expr:
    """`n` unary calls over a relu of X."""
    value: relay.Expr = relay.nn.relu(X)
    for k in range(n):
        value = relay.Call(relay.op.get(ops[k % len(ops)]), [value])
    return value


def test_unknown_operator() -> None:
    with pytest.raises(UnknownNameError, match=r"nn\.relo.*nn\.relu"):
        is_op("nn.relo")


def test_patterns_compare_by_identity() -> None:
    assert wildcard() != wildcard()
    assert is_tuple([wildcard(), wildcard()])[1].index == 1
    assert len(is_tuple([wildcard(), wildcard()])) == 2


@pytest.mark.parametrize("pattern", [
    has_type(relay.TensorType((2, 3), "float32")),
    has_shape((2, 3)),
    has_dtype("float32"),
    wildcard().has_type(relay.TensorType((2, 3), "float32")),
])  # fmt: skip
def test_types_are_inferred_on_the_fly(pattern: relay.dataflow_pattern.DFPattern) -> None:
    untyped = relay.abs(X)
    assert not untyped.is_typed
    assert match(pattern, untyped)
    assert not match(pattern, relay.op.get("abs"))  # an operator has no type


def test_prefix_forms_stand_for_a_wildcard() -> None:
    assert has_attr({"axis": 1}).match(relay.nn.softmax(X, axis=1))
    assert not has_attr({"axis": 1}).match(relay.nn.softmax(X, axis=0))
    assert not has_attr({"axis": 1}).match(X)


def test_index_minus_one_is_any_projection() -> None:
    pair = relay.Tuple([X, X])
    assert is_tuple_get_item(wildcard(), -1).match(relay.TupleGetItem(pair, 1))


def test_a_pattern_may_be_redirected_to_itself() -> None:
    recursive = wildcard()
    recursive.redirect_to(is_op("abs")(recursive) | RELU(wildcard()))
    assert recursive.match(chain(50))
    assert not recursive.match(chain(50, ("abs", "exp")))
    moved = partition(recursive, chain(3))
    assert moved.op.attrs["PartitionedFromPattern"] == "nn.relu_abs_abs_abs_"


def test_endless_recursion_is_a_typed_error() -> None:
    recursive = wildcard()
    recursive.redirect_to(is_op("abs")(recursive) | RELU(wildcard()))
    with pytest.raises(PassError, match="redirect"):
        recursive.match(chain(20_000))
    endless = wildcard()
    endless.redirect_to(endless)
    with pytest.raises(PassError, match="redirect"):
        endless.match(X)


def test_the_path_of_a_dominator_may_be_long() -> None:
    n = 5_000
    fuzzy = is_op("exp")(wildcard()).dominates(RELU(wildcard()), is_op("abs")(wildcard()))
    root = relay.exp(chain(n))
    assert fuzzy.match(root)
    group, *others = find_groups(fuzzy, IndexedGraph(root))
    assert not others
    assert len(group.body) == n + 2
    assert group.inputs == [X]
    assert len(group.taken[fuzzy.path]) == n


def test_the_path_defaults_to_anything() -> None:
    pattern = is_op("exp")(wildcard()).dominates(RELU(wildcard()))
    assert pattern.match(relay.exp(chain(2, ("abs", "tanh"))))
    assert dominates(RELU(wildcard()), wildcard(), is_op("exp")(wildcard())).match(
        relay.exp(chain(2, ("abs", "tanh")))
    )


@pytest.mark.parametrize(("pattern", "operators"), [
    (RELU(wildcard()), {"nn.relu"}),
    (RELU(wildcard()) | is_op("abs")(None), {"nn.relu", "abs"}),
    (RELU(wildcard()).has_shape((2, 3)), {"nn.relu"}),
    (is_op("exp")(None).dominates(wildcard()), {"exp"}),
    (wildcard() / wildcard(), {"divide", "multiply"}),
    (wildcard(), None),
    (RELU(wildcard()) | is_constant(), None),
    (wildcard()(wildcard()), None),
    (FunctionPattern(None, wildcard()), None),
])  # fmt: skip
def test_where_a_pattern_is_looked_for(
    pattern: relay.dataflow_pattern.DFPattern, operators: set[str] | None
) -> None:
    assert root_operators(pattern) == (None if operators is None else frozenset(operators))


def test_root_of_a_redirected_wildcard() -> None:
    recursive = wildcard()
    recursive.redirect_to(AltPattern(is_op("abs")(recursive), RELU(is_var())))
    assert root_operators(recursive) == {"abs", "nn.relu"}


def test_only_calls_of_the_root_operator_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    from byoc_lab.relay.patterns import grouping

    tried: list[relay.Expr] = []
    real = grouping.find_match

    def spy(pattern, expr, graph):
        tried.append(expr)
        return real(pattern, expr, graph)

    monkeypatch.setattr(grouping, "find_match", spy)
    graph = IndexedGraph(chain(100))
    assert len(find_groups(RELU(wildcard()), graph)) == 1
    assert [call.op.name for call in tried] == ["nn.relu"]


@pytest.mark.parametrize("leaf", [is_var(), is_var("x"), wildcard(), is_constant()], ids=str)
def test_what_a_pattern_takes_from_outside_is_not_rewritten(leaf) -> None:
    """As in TVM: a leaf by itself rewrites no variable and no call; a constant belongs to it."""
    x = relay.var("x", shape=(2,))
    body = relay.add(relay.abs(x), relay.const(1.0))
    function = relay.Function([x], body)
    asked: list[relay.Expr] = []

    class Ask(relay.dataflow_pattern.DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.pattern = leaf

        def callback(self, pre, post, node_map):
            asked.append(pre)
            return post

    assert relay.dataflow_pattern.rewrite(Ask(), function) is function
    wanted = {WildcardPattern: [relay.Function], ConstantPattern: [relay.Constant], VarPattern: []}
    assert [type(node) for node in asked] == wanted[type(leaf)]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.data())
def test_common_ancestors(choices: list[int], data: st.DataObject) -> None:
    """The jumps find the ancestor that walking up one by one finds."""
    tree = DominatorTree()
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
