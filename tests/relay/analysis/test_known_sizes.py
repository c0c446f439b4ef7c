"""Shapes that follow from input shapes, and inputs whose values determine a shape."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from byoc_lab import relay
from byoc_lab.relay import Expr
from byoc_lab.relay.analysis.known_sizes import deciding_variables, follows_from_inputs
from byoc_lab.relay.typing.infer import infer_expr

X = relay.var("x", shape=(relay.Any(), 4))
N = relay.var("n", shape=(2,), dtype="int64")
SHAPE = relay.shape_of(X, "int64")


@pytest.mark.parametrize("form", [relay.broadcast_to, relay.tile, relay.reshape])
def test_shape_computed_from_input_shapes_follows_from_the_inputs(
    form: Callable[..., Expr],
) -> None:
    """The values of the broadcast, tiled or reshaped operand do not matter."""
    typed = infer_expr(relay.tanh(form(relay.exp(X), SHAPE)))
    assert follows_from_inputs(typed) and not deciding_variables(typed)


@pytest.mark.parametrize(
    "expr",
    [
        relay.tile(X, N),
        relay.tanh(relay.reshape(X, N + SHAPE)),
        relay.zeros(N, "float32"),
        relay.arange(relay.take(N, relay.const(0)), dtype="int64"),
    ],
)
def test_variable_whose_values_determine_a_shape_is_found(expr: Expr) -> None:
    typed = infer_expr(expr)
    assert not follows_from_inputs(typed)
    assert [v.name_hint for v in deciding_variables(typed)] == ["n"]


def test_pad_value_determines_no_shape() -> None:
    width = relay.reshape(relay.concatenate([N, N], axis=0), (2, 2))
    filled = relay.var("filled", shape=())
    typed = infer_expr(relay.nn.pad(X, width, filled))
    assert typed.op.name == "dyn.nn.pad"
    assert [v.name_hint for v in deciding_variables(typed)] == ["n"]
    typed = infer_expr(relay.nn.pad(X, relay.reshape(SHAPE, (1, 2)), filled))
    assert not deciding_variables(typed)
