"""LSTM cells: every equivalent form becomes one kernel, and no other expression does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import native
from byoc_lab.relay import Function, nn
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run import evaluate
from tests.backends.dnnl.graph.net import Net

WIDTH = 6
sigmoid, tanh = relay.sigmoid, relay.tanh


def part(gates: Expr, quarter: int, width: int = WIDTH) -> Expr:
    return relay.strided_slice(gates, [quarter * width], [(quarter + 1) * width], axes=[1])


def cell(
    gates: Expr, before: Expr, order: tuple[int, ...] = (0, 1, 2, 3), turned: bool = False
) -> tuple[Expr, Expr]:
    """The state and the cell; turned: whether the operands of additions and products are
    swapped."""
    first, output, forget, new = (part(gates, n) for n in order)
    if turned:
        after = tanh(new) * sigmoid(first) + before * sigmoid(forget)
        return tanh(after) * sigmoid(output), after
    after = sigmoid(forget) * before + sigmoid(first) * tanh(new)
    return sigmoid(output) * tanh(after), after


def variables(rows: int, dtype: str = "float32") -> tuple[Any, Any]:
    shapes = (rows, 4 * WIDTH), (rows, WIDTH)
    return tuple(relay.var(n, shape=s, dtype=dtype) for n, s in zip("gc", shapes, strict=True))


def region(body: Expr) -> tuple[Function, Any]:
    function = infer_expr(Function(relay.analysis.free_vars(body), body))
    assert isinstance(function, Function)
    return function, dnnl.region_graph(function, "r")


def kinds(body: Expr) -> list[str]:
    return [op["kind"] for op in region(body)[1].graph["ops"]]


def check(body: Expr) -> None:
    """Asserts that the region gives the results of Relay's operators."""
    function, made = region(body)
    random = np.random.default_rng(0)
    shapes = [p.checked_type.concrete_shape for p in function.params]
    inputs = [(3 * random.standard_normal(shape)).astype("float32") for shape in shapes]
    wanted = evaluate(relay.IRModule.from_expr(function), inputs).outputs
    found = native.DnnlRegion(made.graph, made.constants)(*inputs)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.native
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 3, 0, 1), (3, 0, 1, 2)])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("turned", [False, True])
def test_lstm_cell_with_any_order_of_gates_is_one_kernel(
    order: tuple[int, ...], rows: int, turned: bool
) -> None:
    body = relay.Tuple(list(cell(*variables(rows), order, turned)))
    assert kinds(body) == ["lstm_cell", "slice", "slice"]
    _, made = region(body)
    assert made.graph["ops"][0]["attrs"] == {"order": list(order)}
    check(body)


@pytest.mark.native
def test_each_of_two_consecutive_lstm_steps_is_one_kernel() -> None:
    gates, before = variables(1)
    weight = relay.const(np.random.default_rng(1).standard_normal((24, 6)).astype("float32"))
    state, after = cell(gates, before)
    again, last = cell(gates + nn.dense(state, weight), after)
    body = relay.Tuple([again, last, state])
    assert kinds(body).count("lstm_cell") == 2
    assert not {"eltwise"} & set(kinds(body))
    check(body)


def others() -> dict[str, Expr]:
    gates, before = variables(3)
    more = relay.var("more", shape=(3, 24))
    first, output, forget, new = (part(gates, n) for n in range(4))
    gate = sigmoid(output)
    after = sigmoid(forget) * before + sigmoid(first) * tanh(new)
    row = relay.var("row", shape=(1, WIDTH))
    shifted = relay.strided_slice(gates, [11], [17], axes=[1])
    rows = relay.strided_slice(more, [0], [3], axes=[0])
    return {
        "a gate that is also a result": relay.Tuple([gate * tanh(after), gate]),
        "a gate of another matrix": sigmoid(part(more, 1)) * tanh(after),
        "a gate used twice": sigmoid(forget) * tanh(after),
        "a cell that broadcasts": gate * tanh(sigmoid(forget) * row + sigmoid(first) * tanh(new)),
        "columns that are not quarters": gate
        * tanh(sigmoid(shifted) * before + sigmoid(first) * tanh(new)),
        "another activation": gate * tanh(sigmoid(forget) * before + tanh(first) * tanh(new)),
        "another function of the cell": gate * sigmoid(after),
        "rows": sigmoid(rows) * tanh(sigmoid(rows) * more + sigmoid(rows) * tanh(rows)),
    }


@pytest.mark.native
@pytest.mark.parametrize("name", others())
def test_expression_that_is_almost_an_lstm_cell_is_computed_by_its_operators(name: str) -> None:
    body = others()[name]
    assert "lstm_cell" not in kinds(body)
    check(relay.Tuple([body]) if not isinstance(body, relay.Tuple) else body)


@pytest.mark.native
@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0])
@pytest.mark.parametrize("shape", [(1, 256), (5, 7)])
def test_lstm_cell_with_small_and_large_gates_is_exact_to_rounding(
    scale: float, shape: tuple[int, int]
) -> None:
    rows, width = shape
    net = Net()
    gates = net.op("eltwise", [net.input(rows, 4 * width)], alg="linear", alpha=scale, beta=0.0)
    cells = net.op("lstm_cell", [gates, net.input(rows, width)])
    again = net.op(
        "lstm_cell", [gates, net.op("slice", [cells], axis=1, begin=width, length=width)]
    )
    net.check(cells, again)


@pytest.mark.native
def test_lstm_cell_with_nan_and_infinite_gates_gives_the_expected_values() -> None:
    gates = np.array([[np.inf, np.inf, -np.inf, np.inf, np.nan, 0, 0, 0]], "float32")
    net = Net()
    both = net.op("lstm_cell", [net.input(1, 8), net.input(1, 2)], order=[0, 1, 2, 3])
    found = net.check(both)(gates, np.array([[3.0, 0.5]], "float32"))[0]
    assert np.isnan(found[0, 0]) and np.isnan(found[0, 2])
    np.testing.assert_allclose(found[0, [1, 3]], [np.tanh(0.25), 0.25], rtol=1e-6)


@pytest.mark.native
@pytest.mark.parametrize(
    ("shapes", "attrs", "reason"),
    [
        (((1, 9), (1, 2)), {}, "four times the width"),
        (((2, 8), (1, 2)), {}, "gates"),
        (((1, 8), (1, 2)), {"order": [0, 1, 2, 2]}, "expected an order of 0 to 3"),
        (((1, 8), (1, 2)), {"order": [0, 1, 2]}, "order"),
        (((1, 8), (1, 2)), {"order": [0, 1, 2, 4]}, "order"),
    ],
)
def test_lstm_cell_with_invalid_shapes_is_refused(
    shapes: tuple[tuple[int, ...], ...], attrs: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        native.function("check_op")(
            "here", "lstm_cell", shapes, ["float32"] * 2, "float32", attrs, [], [], [], []
        )
