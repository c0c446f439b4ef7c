"""The classes of the pattern language and the functions that create them."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import UnknownNameError
from byoc_lab.relay.patterns import (
    AltPattern,
    DFPattern,
    FunctionPattern,
    dominates,
    has_attr,
    is_constant,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from byoc_lab.relay.patterns.below import root_operators
from byoc_lab.relay.patterns.foreign import AndPattern, ForeignPattern, NotPattern
from tests.relay.patterns.chains import RELU, X, chain


def test_unknown_operator_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"nn\.relo.*nn\.relu"):
        is_op("nn.relo")


def test_patterns_are_compared_by_identity() -> None:
    assert wildcard() != wildcard()
    assert is_tuple([wildcard(), wildcard()])[1].index == 1
    assert len(is_tuple([wildcard(), wildcard()])) == 2


def test_prefix_functions_apply_to_a_wildcard() -> None:
    assert has_attr({"axis": 1}).match(relay.nn.softmax(X, axis=1))
    assert not has_attr({"axis": 1}).match(relay.nn.softmax(X, axis=0))
    assert not has_attr({"axis": 1}).match(X)


def test_index_minus_one_matches_any_projection() -> None:
    pair = relay.Tuple([X, X])
    assert is_tuple_get_item(wildcard(), -1).match(relay.TupleGetItem(pair, 1))


def test_dominator_path_is_a_wildcard_by_default() -> None:
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
def test_root_operators_of_a_pattern_are_found(
    pattern: relay.dataflow_pattern.DFPattern, operators: set[str] | None
) -> None:
    assert root_operators(pattern) == (None if operators is None else frozenset(operators))


def test_root_operators_of_a_redirected_wildcard_are_found() -> None:
    recursive = wildcard()
    recursive.redirect_to(AltPattern(is_op("abs")(recursive), RELU(is_var())))
    assert root_operators(recursive) == {"abs", "nn.relu"}


def test_pattern_class_without_its_method_cannot_be_created() -> None:
    class Unfinished(DFPattern):
        """Lacks the required method."""

    with pytest.raises(TypeError, match="fits"):
        Unfinished()  # type: ignore[abstract]


def test_negated_and_combined_patterns_match_as_defined() -> None:
    relu, sum_ = relay.nn.relu(X), relay.add(X, X)
    a_relu = RELU(wildcard())
    assert NotPattern(a_relu).match(sum_) and not NotPattern(a_relu).match(relu)
    both = AndPattern(a_relu, wildcard().has_dtype("float32"))
    assert both.match(relu) and not both.match(sum_)
    assert not ForeignPattern("a tuple in any order").match(relu)
