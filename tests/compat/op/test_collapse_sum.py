"""collapse_sum_like and collapse_sum_to: properties that the sample calls do not cover."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab.compat import relay, transform, tvm
from byoc_lab.errors import ArgumentError
from byoc_lab.run.reference import evaluate


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (1, 3, 4), (2, 1, 4), (2, 3, 4)])
def test_sum_is_the_adjoint_of_the_broadcast(shape: tuple[int, ...]) -> None:
    """sum(collapse(x) * y) = sum(x * broadcast(y)) for every y of the shape."""
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 3, 4)), rng.random(shape)
    data = relay.var("x", shape=x.shape, dtype="float64")
    like = relay.var("y", shape=shape, dtype="float64")
    both = relay.Tuple([relay.collapse_sum_to(data, shape), relay.collapse_sum_like(data, like)])
    mod = tvm.IRModule.from_expr(relay.Function([data, like], both))
    for collapsed in evaluate(mod, {"x": x, "y": y}).outputs:
        assert collapsed.shape == shape
        np.testing.assert_allclose((collapsed * y).sum(), (x * y).sum())


def _simplified(body: Any) -> Any:
    return transform.SimplifyExpr()(transform.InferType()(tvm.IRModule.from_expr(body)))


def test_simplify_expr_replaces_a_known_shape_operand_by_an_attribute() -> None:
    data, like = relay.var("data", shape=(3, 3, 3)), relay.var("like", shape=(3,))
    expected = transform.InferType()(
        tvm.IRModule.from_expr(relay.Function([data, like], relay.collapse_sum_to(data, (3,))))
    )
    found = _simplified(relay.Function([data, like], relay.collapse_sum_like(data, like)))
    tvm.ir.assert_structural_equal(found, expected)


def test_simplify_expr_keeps_a_shape_operand_of_unknown_value() -> None:
    data, like = relay.var("data", shape=(3, 3)), relay.var("like", shape=(relay.Any(),))
    function = relay.Function([data, like], relay.collapse_sum_like(data, like))
    assert _simplified(function)["main"].body.op.name == "collapse_sum_like"


def test_constant_shape_with_two_axes_raises_error() -> None:
    data = relay.var("data", shape=(3, 3))
    with pytest.raises(ArgumentError, match=r"must have one axis, found .* \(2, 1\)"):
        relay.collapse_sum_to(data, relay.const(np.array([[3], [1]])))
