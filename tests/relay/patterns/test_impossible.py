"""A pattern is impossible only if each of its alternatives is."""

from __future__ import annotations

from byoc_lab.relay.patterns import DFPattern, is_op, wildcard
from byoc_lab.relay.patterns.impossible import why_impossible


def add(*operands: DFPattern) -> DFPattern:
    return is_op("add")(*operands)


def test_one_possible_alternative_is_enough() -> None:
    wrong = add(wildcard())
    right = add(wildcard(), wildcard())
    assert "asks for 1 operands of add, which has 2" in why_impossible(wrong)
    assert why_impossible(right) == ""
    assert why_impossible(right | wrong) == why_impossible(wrong | right) == ""
    assert why_impossible(wrong | add(wildcard(), wildcard(), wildcard()))
    assert why_impossible(right.optional(lambda value: is_op("tanh")(value, value))) == ""


def test_pattern_with_an_impossible_part_is_impossible() -> None:
    wrong = add(wildcard()).has_attr({"axis": 0})
    assert why_impossible(is_op("tanh")(wrong))
    assert why_impossible(is_op("tanh")(wrong | wildcard())) == ""
    assert why_impossible(is_op("tanh")(wildcard()).dominates(wrong))
