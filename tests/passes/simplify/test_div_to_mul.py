"""DivToMul gives TVM 0.16's modules, except that it inverts every element of a constant."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.relay import Expr, IRModule, assert_structural_equal
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.transform import DivToMul
from tests.parity.golden import golden_test

test_golden = golden_test("DivToMul")


def _module(body: Expr) -> IRModule:
    return infer_module(IRModule.from_expr(body))


def test_every_element_of_a_divisor_is_inverted() -> None:
    x = relay.var("x", shape=(2,))
    after = DivToMul()(_module(x / relay.const([4.0, 0.5])))
    assert_structural_equal(after, _module(x * relay.const([0.25, 2.0])))
    for left in (x / relay.const([1.0, 0.0]), relay.cast(x, "int32") / relay.const(2)):
        mod = _module(left)
        assert DivToMul()(mod) is mod
