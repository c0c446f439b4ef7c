"""Where SimplifyExpr does what the oracle does not (see tests/oracle/fork.py), or better."""

from __future__ import annotations

import pytest
from byoc_lab.transform import InferType, SimplifyExpr

from byoc_lab.relay import IRModule, assert_structural_equal, parse

X = "%x: Tensor[(4), {}], %y: Tensor[(4), {}]"


def _module(body: str, dtype: str = "float32") -> IRModule:
    params = X.replace("{}", dtype)
    return InferType()(parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}'))


def test_a_quotient_by_a_root_is_a_product() -> None:
    after = SimplifyExpr()(_module("divide(%x, sqrt(%y))"))
    assert_structural_equal(after, _module("multiply(%x, rsqrt(%y))"))


@pytest.mark.parametrize(
    ("dtype", "body"),
    [
        ("int32", "add(add(multiply(%x, %x), multiply(3, multiply(%x, %y))), multiply(%y, %y))"),
        ("float32", "add(add(multiply(%x, %x), multiply(%x, %y)), multiply(%y, %y))"),
    ],
)
def test_squares_without_real_or_exact_roots_stay(dtype: str, body: str) -> None:
    """x*x + 3xy + y*y has irrational factors, which integers cannot hold; the other has none."""
    mod = _module(body, dtype)
    assert_structural_equal(SimplifyExpr()(mod), mod)


def test_whole_roots_serve_whole_numbers() -> None:
    """x*x + 5xy + 6y*y = (x + 3y)(x + 2y)."""
    xx, xy, yy = (f"multiply({a}, {b})" for a, b in (("%x", "%x"), ("%x", "%y"), ("%y", "%y")))
    body = f"add(add({xx}, multiply(5, {xy})), multiply(6, {yy}))"
    factors = "multiply(add(%x, multiply(%y, 3)), add(%x, multiply(%y, 2)))"
    assert_structural_equal(SimplifyExpr()(_module(body, "int32")), _module(factors, "int32"))


def test_limits_of_bfloat16_are_known() -> None:
    mod = _module('clip(cast(%x, dtype="bfloat16"), a_min=-0.2f, a_max=0.4f)')
    assert_structural_equal(SimplifyExpr()(mod), mod)


def test_zeros_that_fill_a_block_are_no_layout_alone() -> None:
    """6 channels through blocks of 4 are 8; TVM 0.16 makes them 6 again."""
    there = 'layout_transform(%x, src_layout="NC", dst_layout="NC4c")'
    back = f'layout_transform({there}, src_layout="NC4c", dst_layout="NC")'
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, {}), float32]) {{ {} }}'
    part, full = (InferType()(parse(text.format(n, back))) for n in (6, 8))
    assert_structural_equal(SimplifyExpr()(part), part)
    assert SimplifyExpr()(full)["main"].body is full["main"].params[0]
