"""SimplifyInference gives TVM 0.16's modules, and refuses norms of integers."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.relay import Expr, IRModule
from byoc_lab.transform import SimplifyInference
from tests.parity.golden import golden_test

test_golden = golden_test("SimplifyInference")


def _norm(name: str, dtype: str, epsilon: float) -> Expr:
    x, *rest = (
        relay.var("x", shape=(1, 4, 3, 3), dtype=dtype),
        *(relay.var(n, shape=(4,), dtype=dtype) for n in ("gamma", "beta", "mean", "variance")),
    )
    if name == "batch_norm":
        return relay.nn.batch_norm(x, *rest, epsilon=epsilon)[0]
    options = {"num_groups": 2} if name == "group_norm" else {}
    return getattr(relay.nn, name)(x, *rest[:2], axis=1, epsilon=epsilon, **options)


@pytest.mark.parametrize("name", ["batch_norm", "layer_norm", "instance_norm", "group_norm"])
@pytest.mark.parametrize("epsilon", [float("inf"), float("nan"), 1e10])
def test_an_epsilon_outside_the_range_of_integer_data_is_refused(name: str, epsilon: float) -> None:
    with pytest.raises(PassError, match=r"epsilon .* of a norm of int32 data .* cast the data"):
        SimplifyInference()(IRModule.from_expr(_norm(name, "int32", epsilon)))
    SimplifyInference()(IRModule.from_expr(_norm(name, "float32", epsilon)))
