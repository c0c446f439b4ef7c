"""Patterns as text: a sub-pattern that is used twice or inside itself gets a number."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.backends.dnnl import patterns
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.patterns import (
    DFPattern,
    FunctionPattern,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from byoc_lab.relay.patterns.matcher import Matcher

ANY = wildcard()
CONV = is_op("nn.conv2d")(wildcard(), wildcard())


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (ANY, "*"),
        (is_var(), "var"),
        (is_var("x"), "%x"),
        (is_constant(), "constant"),
        (is_op("add"), "add"),
        (is_expr(relay.const(1.0)), "<constant float32>"),
        (is_op("add")(None), "add(...)"),
        (wildcard() + is_constant(), "add(*, constant)"),
        (is_op("abs")(is_var() | is_constant()), "abs((var | constant))"),
        (is_tuple([wildcard()]), "(*,)"),
        (is_tuple([wildcard(), is_var()]), "(*, var)"),
        (is_tuple([]), "()"),
        (is_tuple(None), "(...)"),
        (is_tuple_get_item(wildcard()), "*.?"),
        (is_tuple_get_item(is_tuple(None), 1), "(...).1"),
        (is_if(is_var("c"), wildcard(), is_constant()), "if (%c) { * } else { constant }"),
        (is_let(is_var("v"), wildcard(), is_var("v")), "(let %v = *; %v)"),
        (FunctionPattern([is_var()], wildcard()), "fn (var) { * }"),
        (FunctionPattern(None, wildcard()), "fn (...) { * }"),
        (CONV.has_attr({"groups": 1}), "nn.conv2d(*, *).has_attr({'groups': 1})"),
        (wildcard().has_dtype("int8").has_shape((1, 2)), "*.has_dtype('int8').has_shape((1, 2))"),
        (wildcard().has_type(relay.TensorType((2,))), "*.has_type(Tensor[(2), float32])"),
        (CONV.dominates(is_var()), "dominator(parent=var, path=*, child=nn.conv2d(*, *))"),
        (ANY * is_op("sigmoid")(ANY), "%0 = *;\nmultiply(%0, sigmoid(%0))"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_pattern_has_a_text(pattern: DFPattern, text: str) -> None:
    assert repr(pattern) == str(pattern) == text


def test_optional_parts_are_printed_on_separate_lines() -> None:
    """Written in full, every option would double the text."""
    biased = CONV.optional(lambda value: is_op("nn.bias_add")(value, wildcard()))
    assert repr(biased.optional(is_op("nn.relu"))).split("\n") == [
        "%0 = nn.conv2d(*, *);",
        "%1 = %0 | nn.bias_add(%0, *);",
        "%1 | nn.relu(%1)",
    ]
    for _ in range(1_000):
        biased = biased.optional(is_op("nn.relu"))
    assert len(repr(biased).split("\n")) == 1_002


def test_pattern_may_be_part_of_itself() -> None:
    again = wildcard()
    chain = is_op("abs")(again | is_var())
    again.redirect_to(chain)
    assert repr(chain) == repr(again) == "%0 = abs((%0 | var));\n%0"


def test_user_defined_pattern_has_a_text() -> None:
    class Twice(DFPattern):
        def children(self) -> list[DFPattern]:
            return [CONV]

        def fits(self, matcher: Matcher, expr: Expr) -> bool:
            return isinstance(expr, Call) and all(matcher.match(CONV, arg) for arg in expr.args)

    assert repr(Twice()) == "Twice(nn.conv2d(*, *))"
    x, w = relay.var("x", shape=(1, 3, 4, 4)), relay.var("w", shape=(3, 3, 1, 1))
    assert Twice().match(relay.abs(relay.nn.conv2d(x, w)))
    assert not Twice().match(relay.nn.conv2d(x, w))


def test_table_of_dnnl_is_readable() -> None:
    texts = {name: repr(pattern) for name, pattern, *_ in patterns.pattern_table()}
    assert texts["dnnl.conv2d_bias_sum_relu"].split("\n") == [
        "%0 = nn.conv2d(*, *);",
        "%1 = *;",
        "nn.relu(add((add(%0, %1) | nn.bias_add(%0, %1)), *))",
    ]
    assert all(" object at " not in text for text in texts.values())
