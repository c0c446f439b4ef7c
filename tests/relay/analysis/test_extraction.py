"""Extraction of an expression by its number, and operator counts."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import UnknownNameError

HEADER = '#[version = "0.0.5"]\n'


MIXED = relay.parse(
    HEADER
    + """def @main(%x: Tensor[(2), float32], %y: float32) {
  %0 = abs(%x);
  %1 = fn (%z: Tensor[(2), float32]) { %7 = exp(%z); add(%7, %0) };
  %2 = if (True) { %8 = abs(%y); exp(%8) } else { %y };
  %3 = add(exp(%0), %1(negative(%x)));
  %4 = (%2, %3);
  add(%4.1, %2)
}
def @other(%x: float32) { tanh(%x) }"""
)


def test_expression_is_extracted_by_its_number():
    """The numbers are TVM 0.16's for the expressions of this module."""
    last_ops = []
    for number in range(12):
        body = relay.analysis.extract_intermdeiate_expr(MIXED, number)["main"].body
        last_ops.append(getattr(body, "op_name", type(body).__name__))
    wanted = "abs exp abs exp exp add negative  add Tuple TupleGetItem add"
    assert last_ops == wanted.split(" ")
    extracted = relay.analysis.extract_intermdeiate_expr(MIXED, 3)["main"]
    assert [p.name_hint for p in extracted.params] == ["x"]


@pytest.mark.parametrize("number", [-1, 12])
def test_number_out_of_range_is_refused(number: int):
    with pytest.raises(UnknownNameError, match="it has %0 to %11"):
        relay.analysis.extract_intermdeiate_expr(MIXED, number)


def test_operators_of_main_are_counted():
    counts = {"add": 3, "negative": 1, "exp": 3, "abs": 2}
    assert relay.analysis.list_op_freqs(MIXED) == counts
