"""SimplifyExpr on cases that the oracle lacks (see tests/parity/fork.py), or improves on TVM."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.relay import IRModule, assert_structural_equal, parse
from byoc_lab.relay.analysis.queries import list_op_freqs
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import InferType, SimplifyExpr
from tests.parity.client import Oracle
from tests.parity.golden import golden_test

X = "%x: Tensor[(4), {}], %y: Tensor[(4), {}]"


def _module(body: str, dtype: str = "float32") -> IRModule:
    params = X.replace("{}", dtype)
    return InferType()(parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}'))


def test_quotient_by_a_root_becomes_a_product() -> None:
    after = SimplifyExpr()(_module("divide(%x, sqrt(%y))"))
    assert_structural_equal(after, _module("multiply(%x, rsqrt(%y))"))


@pytest.mark.parametrize(
    ("dtype", "body"),
    [
        ("int32", "add(add(multiply(%x, %x), multiply(3, multiply(%x, %y))), multiply(%y, %y))"),
        ("float32", "add(add(multiply(%x, %x), multiply(%x, %y)), multiply(%y, %y))"),
    ],
)
def test_squares_without_real_or_integer_roots_stay(dtype: str, body: str) -> None:
    """x*x + 3xy + y*y has irrational factors, which integers cannot represent; the other has
    none."""
    mod = _module(body, dtype)
    assert_structural_equal(SimplifyExpr()(mod), mod)


def test_integer_polynomials_with_integer_roots_are_factored() -> None:
    """x*x + 5xy + 6y*y = (x + 3y)(x + 2y)."""
    xx, xy, yy = (f"multiply({a}, {b})" for a, b in (("%x", "%x"), ("%x", "%y"), ("%y", "%y")))
    body = f"add(add({xx}, multiply(5, {xy})), multiply(6, {yy}))"
    factors = "multiply(add(%x, multiply(%y, 3)), add(%x, multiply(%y, 2)))"
    assert_structural_equal(SimplifyExpr()(_module(body, "int32")), _module(factors, "int32"))


def test_limits_of_bfloat16_are_known() -> None:
    mod = _module('clip(cast(%x, dtype="bfloat16"), a_min=-0.2f, a_max=0.4f)')
    assert_structural_equal(SimplifyExpr()(mod), mod)


def test_layout_transforms_that_pad_a_block_are_not_cancelled() -> None:
    """6 channels become 8 in blocks of 4; TVM 0.16 treats the result as 6 again."""
    there = 'layout_transform(%x, src_layout="NC", dst_layout="NC4c")'
    back = f'layout_transform({there}, src_layout="NC4c", dst_layout="NC")'
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, {}), float32]) {{ {} }}'
    part, full = (InferType()(parse(text.format(n, back))) for n in (6, 8))
    assert_structural_equal(SimplifyExpr()(part), part)
    assert SimplifyExpr()(full)["main"].body is full["main"].params[0]


def _alternating(steps: int) -> tuple[IRModule, np.ndarray, np.ndarray]:
    """x * 0.9 + 1 * 0.9 + 2 ..., with the given number of steps; a value of x, and the result."""
    x = y = relay.var("x", shape=(4,))
    data = np.array([-1.0, 0.5, 2.0, 7.0], "float32")
    value = data.astype("float64")
    for n in range(steps):
        if n % 2:
            y, value = relay.add(y, relay.const(float(n))), value + n
        else:
            y, value = relay.multiply(y, relay.const(0.9)), value * np.float32(0.9)
    return InferType()(IRModule.from_expr(relay.Function([x], y))), data, value


@pytest.mark.parametrize("steps", [20, 101, 1000])
def test_any_number_of_scales_and_shifts_becomes_one_of_each(steps: int) -> None:
    """TVM 0.16 merges one at a time, and raises an error after 100 rounds."""
    mod, data, wanted = _alternating(steps)
    (stage,) = byoc_lab.trace(mod, [SimplifyExpr()])
    assert stage.after is not None
    assert list_op_freqs(stage.after) == {"multiply": 1, "add": 1}
    found = evaluate(stage.after, [data]).outputs[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert_structural_equal(stage.state_after(len(stage.events)), stage.after)


def test_number_of_rounds_does_not_grow_with_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of twice the length takes one more round of all callbacks."""
    made = 0
    original = PatternRewrite._round

    def counted(self: PatternRewrite, *args: Any) -> Any:
        nonlocal made
        made += 1
        return original(self, *args)

    monkeypatch.setattr(PatternRewrite, "_round", counted)
    SimplifyExpr()(_alternating(240)[0])
    short, made = made, 0
    SimplifyExpr()(_alternating(480)[0])
    assert made - short <= len(SimplifyExpr().callbacks())


@pytest.mark.slow
@pytest.mark.oracle
def test_tvm_fails_on_a_chain_of_40() -> None:
    oracle = Oracle.find()
    assert oracle is not None
    with oracle:
        text = _alternating(40)[0].astext(exact=True)
        *_, last = oracle.run(text, ["InferType", "SimplifyExpr"])
    assert last.error is not None and "Observed 100 rewrite passes" in last.error.message


# Golden files

test_golden = golden_test("SimplifyExpr")
