"""Which part of a pattern of Relax fails where it comes nearest to matching."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from tvm import relax
from tvm.relax.dpl import is_const, is_op, is_tuple, is_tuple_get_item, wildcard

from byoc_lab.relax.near_miss import CONSTANT, matching_calls, nearest_miss, operators_of
from byoc_lab.relay.patterns.matcher import COMMUTATIVE

from .test_partition import const, module, var
from .tracing.networks import SMALL, chain

MAIN = SMALL["main"]
CONV = is_op("relax.nn.conv2d")(wildcard(), wildcard())
ADD, ERF = is_op("relax.add"), is_op("relax.erf")


def miss(pattern: Any) -> Any:
    found = nearest_miss(pattern, MAIN)
    assert found is not None
    return found


def test_a_pattern_that_matches_has_none() -> None:
    assert nearest_miss(is_op("relax.nn.relu")(ADD(CONV, wildcard())), MAIN) is None


@pytest.mark.parametrize(
    ("pattern", "kind", "path", "wanted", "found"),
    [
        (
            is_op("relax.nn.relu")(CONV),
            "operator", ".args[0]", "a call of nn.conv2d", "a call of add",
        ),
        (
            is_op("relax.nn.conv2d")(wildcard(), is_const()),
            CONSTANT, ".args[1]", "a constant", "the parameter %w",
        ),
        (CONV.has_attr({"groups": 2}), "attribute", "", "a call with groups=2", "groups=1"),
        (CONV.has_dtype("int8"), "type", "", "of dtype int8", "one of dtype float32"),
        (
            CONV.has_shape((1, 5, 8, 8)),
            "type", "", "of shape [1, 5, 8, 8]", "one of shape [1, 4, 8, 8]",
        ),
        (is_op("relax.erf")(), "operands", "", "one of 0 operands", "one of 1"),
        (
            is_op("relax.erf")(wildcard(), wildcard()),
            "operands", "", "one of 2 operands", "one of 1",
        ),
        (
            is_op("relax.add")(CONV, wildcard()) & is_op("relax.nn.relu")(wildcard()),
            "operator", "", "a call of nn.relu", "a call of add",
        ),
        (
            ERF(is_op("relax.nn.gelu")(wildcard()) | is_op("relax.tanh")(wildcard())),
            "operator", ".args[0]", "a call of nn.gelu", "a call of nn.relu",
        ),
        (
            is_op("relax.erf")(is_tuple_get_item(wildcard(), 0)),
            "other", ".args[0]", "what TupleGetItemPattern(*, 0) matches", "a call of nn.relu",
        ),
        (
            is_op("relax.erf")(is_tuple([wildcard()])),
            "other", ".args[0]", "what TuplePattern((*,)) matches", "a call of nn.relu",
        ),
    ],
)  # fmt: skip
def test_the_part_that_fails(pattern: Any, kind: str, path: str, wanted: str, found: str) -> None:
    got = miss(pattern)
    assert (got.kind, got.path, got.wanted) == (kind, path, wanted)
    assert got.found == found


def test_the_call_where_most_of_it_fits() -> None:
    got = miss(is_op("relax.nn.relu")(ADD(CONV.has_attr({"groups": 4}), wildcard())))
    assert got.variable == "d" and got.fitting == 3
    assert str(got) == (
        "at %d, operand .args[0].args[0] must be a call with groups=4, found groups=1"
    )


def test_operands_of_a_commutative_operator_in_both_orders() -> None:
    got = miss(ADD(wildcard(), is_op("relax.nn.conv2d")(wildcard(), is_const())))
    assert got.kind == CONSTANT and got.variable == "c"


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "subtract", "equal"])
def test_tvm_tries_both_orders_for_commutative_operators_alone(name: str) -> None:
    operator = getattr(relax.op, name)
    main = module([var("x", 2)], lambda emit, x: emit(operator(x, const(2))))["main"]
    pattern = is_op(f"relax.{name}")(is_const(), wildcard())
    assert any(matching_calls(pattern, main)) == (name in COMMUTATIVE)


def test_an_operator_that_the_function_does_not_have() -> None:
    got = miss(is_op("relax.nn.softmax")(CONV))
    assert got.fitting == 0 and str(got) == "the function has no call of nn.softmax"


def test_the_operators_of_a_pattern() -> None:
    assert operators_of(is_op("relax.nn.relu")(CONV)) == ["relax.nn.relu", "relax.nn.conv2d"]


def test_nearest_miss_of_a_deep_pattern_in_a_long_chain_is_found() -> None:
    pattern = wildcard()
    for _ in range(30):
        pattern = ADD(pattern, is_const())
    assert nearest_miss(pattern, chain(200)["main"]) is None
    found = nearest_miss(is_op("relax.tanh")(pattern), chain(200)["main"])
    assert found is not None and found.fitting == 0
