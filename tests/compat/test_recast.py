"""`relay.transform.recast` and the count of layers it goes by."""

from __future__ import annotations

import typing

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.compat.analysis import count_layers
from byoc_lab.compat.recast import recast
from byoc_lab.passes import InferType
from byoc_lab.relay.expr import Call, Expr
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.structural import structural_equal
from byoc_lab.relay.visit import post_order
from byoc_lab.run.reference import evaluate


def _chain(length: int) -> relay.Function:
    x = value = relay.var("x", shape=(4, 4))
    for _ in range(length):
        value = relay.nn.dense(value, relay.const(np.eye(4, dtype="float32")))
    return relay.Function([x], value)


def _narrow(expr: Expr) -> list[bool]:
    """Of each dense, inputs first: whether it computes in int8."""
    calls = [n for n in post_order(expr) if isinstance(n, Call) and n.op_name == "nn.dense"]
    return [call.attrs["out_dtype"] == "int32" for call in calls]


@pytest.mark.parametrize(
    ("skip", "narrow"),
    [([], [1, 1, 1]), ([0], [0, 1, 1]), ([-1], [1, 1, 0]), ([1, -3], [0, 0, 1])],
)
def test_layers_are_counted_from_the_inputs(skip: list[int], narrow: list[int]) -> None:
    made = recast(_chain(3), "int8", "int32", ops=["nn.dense"], skip_layers=skip)
    assert _narrow(made) == [bool(n) for n in narrow]
    data = np.arange(16, dtype="float32").reshape(4, 4)
    np.testing.assert_array_equal(evaluate(made, {"x": data}).value, data)


def test_one_operator() -> None:
    x, w = relay.var("x", shape=(1, 2, 5, 5)), relay.var("w", shape=(3, 2, 3, 3))
    before = relay.Function([x, w], relay.nn.conv2d(x, w, out_dtype="float32"))
    narrow = relay.nn.conv2d(relay.cast(x, "int8"), relay.cast(w, "int8"), out_dtype="int32")
    expected = relay.Function([x, w], relay.cast(narrow, "float32"))
    assert structural_equal(recast(before, "int8", "int32"), expected)
    module = recast(IRModule.from_expr(before), "int8", "int32")
    assert structural_equal(module["main"], expected)


def test_operators_without_an_out_dtype() -> None:
    x = relay.var("x", shape=(4,))
    made = recast(relay.Function([x], x + x), "float16", "float16", ops=["add"])
    typed = InferType()(IRModule.from_expr(made))["main"]
    assert typed.body.args[0].checked_type.dtype == "float16"
    assert typed.body.checked_type.dtype == "float32"


def test_the_first_meeting_counts() -> None:
    """As in TVM: of the addition's arguments the first is met first, and then not counted again."""
    first = _chain(1).body
    second = relay.nn.dense(first, relay.const(np.eye(4, dtype="float32")))
    dense: typing.Any = ["nn.dense"]
    assert count_layers(relay.add(first, second), dense) == 1
    assert count_layers(relay.add(second, first), dense) == 2
    assert count_layers(IRModule.from_expr(_chain(5)), dense) == 5
