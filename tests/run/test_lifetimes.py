"""Values are released after their last use, unless they are requested, and never earlier."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate
from byoc_lab.run.interpreter import evaluated_first
from byoc_lab.run.lifetimes import Lifetimes

LENGTH = 120
ELEMENTS = 10 * 2**20 // 4  # of 10 MB in float32


def chain(kind: str) -> IRModule:
    """120 operators on arrays of 10 MB: as a graph, in A-normal form, in a function."""
    x = body = relay.var("x", shape=(ELEMENTS,))
    one = relay.const(np.float32(1))
    if kind == "let":
        names = [relay.var(f"v{n}", shape=(ELEMENTS,)) for n in range(LENGTH)]
        values = [nn.relu(x), *(relay.add(name, one) for name in names[:-1])]
        body = names[-1]
        for name, value in zip(reversed(names), reversed(values), strict=True):
            body = relay.Let(name, value, body)
        return infer_module(IRModule.from_expr(Function([x], body)))
    for n in range(LENGTH):
        body = relay.add(body, one) if n % 2 else nn.relu(body)
    made: Expr = Function([x], body)
    if kind == "function":
        y = relay.var("y", shape=(ELEMENTS,))
        made = Function([y], relay.Call(made, [y]))
    return infer_module(IRModule.from_expr(made))


@pytest.mark.parametrize(
    ("kind", "dtype"), [("graph", None), ("graph", "float64"), ("let", None), ("function", None)]
)
def test_chain_needs_only_the_memory_of_live_values(kind: str, dtype: str | None) -> None:
    """The most memory is needed for the input, an argument and a result at once."""
    mod = chain(kind)
    x = np.random.default_rng(0).standard_normal(ELEMENTS, dtype=np.float32)
    tracemalloc.start()
    try:
        evaluate(mod, [x], dtype=dtype)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = x.nbytes * (2 if dtype else 1)
    live = 2 * size + (size if dtype else 0)  # the input in float64 is a copy
    assert peak < 1.3 * live


def test_requested_values_are_kept() -> None:
    x = relay.var("x", shape=(4,))
    first = relay.exp(x)
    body = relay.add(nn.relu(first), relay.const(np.float32(1)))
    found = evaluate(Function([x], body), [np.zeros(4, "float32")], keep=True)
    assert np.array_equal(found.values[first], np.ones(4)) and {x, first, body} < set(found.values)


def test_value_that_a_closure_uses_is_kept() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    shared = relay.exp(x)
    inner = Function([y], relay.add(y, relay.multiply(shared, shared)))
    body = relay.Call(inner, [relay.Call(inner, [relay.tanh(shared)])])
    got = evaluate(Function([x], body), [np.float32([0, 1])]).value
    e = np.exp(np.float32([0, 1]))
    assert np.allclose(got, np.tanh(e) + 2 * e * e)


def test_value_used_in_a_branch_and_afterwards_is_kept() -> None:
    x, c = relay.var("x", shape=(2,)), relay.var("c", shape=(), dtype="bool")
    shared = relay.exp(x)
    first = relay.If(c, relay.negative(shared), relay.tanh(shared))
    second = relay.If(c, relay.abs(relay.negative(shared)), shared)
    expr = Function([x, c], relay.add(relay.add(first, second), relay.tanh(shared)))
    e = np.exp(np.float32([0, 1]))
    for cond, wanted in ((True, -e + e + np.tanh(e)), (False, np.tanh(e) + e + np.tanh(e))):
        assert np.allclose(evaluate(expr, [np.float32([0, 1]), np.bool_(cond)]).value, wanted)


def test_uses_are_counted_by_scope() -> None:
    x = relay.var("x", shape=(2,))
    inner = relay.exp(x)
    twice = relay.add(inner, inner)
    made = Lifetimes(evaluated_first)
    uses = made.of(twice)
    assert uses[inner] == 2 and uses[x] == 1 and uses[twice] == 1
    uses.clear()
    assert made.of(twice)[inner] == 2  # a new counter each time
    function = Function([], inner)
    outer = relay.Tuple([inner, relay.Call(function, [])])
    shared = Lifetimes(evaluated_first).of(outer)
    assert inner not in shared


def test_deep_chain_of_functions_is_evaluated_in_linear_time() -> None:
    x = body = relay.var("x", shape=(1,))
    for n in range(2000):
        y: Any = relay.var(f"y{n}", shape=(1,))
        body = relay.Call(Function([y], nn.relu(y)), [body])
    assert evaluate(Function([x], body), [np.float32([1])]).value == 1
