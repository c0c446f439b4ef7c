"""The tolerance of a single operator on exact values is derived without sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.lab.checking.bounds.error import Error
from byoc_lab.lab.checking.bounds.rounding import RULES
from byoc_lab.lab.checking.bounds.samples import calibrated
from byoc_lab.lab.checking.bounds.step import Step, rounding_deviation
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Expr, Function, Op, Tuple
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.typing.infer import infer_expr

RNG = np.random.default_rng(0)


def constant(*shape: int) -> Expr:
    return relay.const(RNG.standard_normal(shape).astype(np.float32))


def batch_norm(x: Expr) -> Expr:
    gamma, beta, mean = (constant(8) for _ in range(3))
    return nn.batch_norm(x, gamma, beta, mean, relay.const(np.ones(8, np.float32)))[0]


OPERATORS: dict[str, Callable[[Expr], Expr]] = {
    "tanh": relay.tanh,
    "exp": relay.exp,
    "add": lambda x: x + constant(8, 1, 1),
    "a number": lambda x: x + relay.const(np.float32(3)),
    "softmax": lambda x: nn.softmax(x, axis=1),
    "conv2d": lambda x: nn.conv2d(x, constant(4, 8, 3, 3)),
    "max_pool2d": lambda x: nn.max_pool2d(x, (2, 2)),
    "batch_norm": batch_norm,
    "concatenate": lambda x: relay.concatenate([x, constant(2, 8, 6, 6)], axis=1),
    "argmax": lambda x: relay.argmax(x, axis=1),
    "an operator without a rule": lambda x: nn.lrn(x),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_derived_tolerance_equals_the_sampled_tolerance(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a field of a tuple, the operator is not a single step, so samples are drawn."""
    x = relay.var("x", shape=(2, 8, 6, 6))
    made, data = OPERATORS[name](x), RNG.standard_normal((2, 8, 6, 6)).astype(np.float32)
    drawn = []

    def watched(value: np.ndarray, error: Error, samples: Sequence[np.ndarray]) -> Error:
        drawn.append(len(samples))
        return calibrated(value, error, samples)

    monkeypatch.setattr("byoc_lab.lab.checking.bounds.uncertain.calibrated", watched)
    found = []
    for body in (made, Tuple([made])):
        function = infer_expr(Function([x], body))
        assert isinstance(function, Function)
        found.append(bounded(function, {function.params[0]: data}, exact_constants=True))
        if body is made:
            assert not any(drawn)
    alone, sampled = found
    np.testing.assert_array_equal(alone.outputs[0], sampled.outputs[0])
    np.testing.assert_allclose(alone.tolerances[0], sampled.tolerances[0], rtol=1e-5)
    if name in ("tanh", "conv2d"):
        assert any(drawn) and (alone.tolerances[0] > 0).all()


def test_kernel_that_scales_both_terms_first_is_within_the_tolerance() -> None:
    """DNNL's hard-swish computes x / 6 + 1 / 2 for (x + 3) / 6.

    Its rounding errors are about one standard deviation of the rule; if the terms cancel, they are
    thousands of times the error of one rounded sum.
    """
    x = np.random.default_rng(0).uniform(-3.01, 3.01, 100_000).astype(np.float32)
    exact = x.astype(np.float64) + 3
    scaled = x * np.float32(1 / 6) + np.float32(0.5)
    errors = np.abs(6 * scaled.astype(np.float64) - exact) / rounding_deviation("float32")
    args = (x.astype(np.float64), np.array(3.0))
    rule = RULES[Arithmetic.ADDITION](Step(Op.get("add"), None, args, exact, [None, None]))
    assert 0.3 < np.sqrt(np.mean((errors / rule) ** 2)) < 1
    assert np.max(errors / rule) < 3
    assert np.max(errors / np.maximum(np.abs(exact), 1e-9)) > 1_000
