"""ToANormalForm gives TVM 0.16's modules, in time linear in the number of lets."""

from __future__ import annotations

from time import process_time

from byoc_lab import relay
from byoc_lab.relay import Expr, IRModule, Let, Var
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.transform import InferType, ToANormalForm
from tests.parity.golden import golden_test

test_golden = golden_test("ToANormalForm")


def _lets(count: int) -> IRModule:
    """let %v0 = relu(%x); let %v1 = relu(%v0); ..."""
    x = relay.var("x", shape=(4,))
    variables = [Var(f"v{n}") for n in range(count)]
    body: Expr = variables[-1]
    for variable, before in zip(variables[:0:-1], variables[-2::-1], strict=True):
        body = Let(variable, relay.nn.relu(before), body)
    return InferType()(IRModule.from_expr(Let(variables[0], relay.nn.relu(x), body)))


def test_bindings_are_in_the_order_of_the_lets() -> None:
    after = ToANormalForm()(_lets(50))["main"].body
    names = []
    while isinstance(after, Let):
        names.append(after.var.name_hint)
        after = after.body
    assert names == [*(f"v{n}" for n in range(50)), *(f"x_{n}" for n in range(50))]


def test_thousands_of_lets_take_little_time() -> None:
    """Copying the bindings of every let into the surrounding let would take 20 seconds."""
    mod = _lets(4000)
    begin = process_time()
    after = ToANormalForm()(mod)
    assert process_time() - begin < 4
    assert sum(isinstance(n, Let) for n in post_order(after["main"])) == 8000
