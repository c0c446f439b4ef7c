"""Modules, patterns and pipelines for tests of explanations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab import backends, relay
from byoc_lab.lab.explaining import Explanation, Explanations, explain
from byoc_lab.passes import (
    AnnotateTarget,
    InferType,
    MergeCompilerRegions,
    MergeComposite,
    PartitionGraph,
)
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay import nn
from byoc_lab.relay.patterns import (
    is_op,
    wildcard,
)

NPU = "npu_of_tests"
OTHER = "dsp_of_tests"
Any_ = wildcard


def weight(*shape: int) -> relay.Expr:
    return relay.const(np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape).astype("float32"))


def x(*shape: int, dtype: str = "float32", name: str = "x") -> relay.Var:
    return relay.var(name, shape=shape or (1, 4, 8, 8), dtype=dtype)


def conv(data: relay.Expr | None = None, **attrs: Any) -> relay.Expr:
    given = x() if data is None else data
    return nn.conv2d(given, weight(4, 4, 3, 3), padding=(1, 1), channels=4, **attrs)


def bias(value: relay.Expr, shape: tuple[int, ...] = (4, 1, 1)) -> relay.Expr:
    return relay.add(value, weight(*shape))


def batch_norm(data: relay.Expr, constant: bool = True) -> relay.Expr:
    names = ("gamma", "beta", "mean", "var")
    params = [weight(4) if constant else x(4, name=n) for n in names]
    return nn.batch_norm(data, *params)[0]


# Patterns of the back end used by these tests.
CONV = is_op("nn.conv2d")(Any_(), Any_())
CONV_RELU = is_op("nn.relu")(CONV)
CONV_ADD = is_op("add")(CONV, Any_())
CONV_ADD_RELU = is_op("nn.relu")(CONV_ADD)


def the(found: Explanations, operator: str) -> Explanation:
    """The explanation of the last call of an operator."""
    return [e for e in found if e.name == operator][-1]


def entry(name: str, *rest: Any) -> tuple[Any, ...]:
    return (f"{NPU}.{name}", *rest)


def steps(*middle: Pass, target: str | Sequence[str] = NPU, table: Sequence[Any] = ()) -> Any:
    """A pipeline with a separate table and target."""
    return lambda: [
        InferType(), *middle, MergeComposite(list(table)), AnnotateTarget(target),
        MergeCompilerRegions(), PartitionGraph(),
    ]  # fmt: skip


def two_users() -> relay.Expr:
    inner = conv()
    return relay.Tuple([nn.relu(inner), relay.tanh(inner)])


def gated() -> relay.Expr:
    inner = bias(conv())
    return relay.multiply(inner, relay.sigmoid(inner))


def overlapping() -> relay.Expr:
    return bias(bias(bias(x())))


def unused_let() -> relay.Expr:
    return relay.Let(relay.Var("a"), conv(), nn.relu(x(2, 4, name="y")))


def bound_by_let() -> relay.Expr:
    variable = relay.var("y")
    return relay.Let(variable, conv(), nn.relu(variable))


def around_a_let_of_the_host() -> relay.Expr:
    first, between = relay.exp(x(2, 4)), relay.var("y")
    return relay.Let(between, relay.erf(relay.tanh(first)), relay.add(first, between))


def heavy_around_the_host() -> relay.Expr:
    first = conv()
    return relay.add(first, relay.erf(first))


def residual() -> relay.Expr:
    return nn.relu(relay.add(conv(), x(1, 4, 8, 8, name="skip")))


def refuse_wide(call: relay.Call) -> Any:
    """A predicate: only the last axis is supported."""
    if call.attrs.axis != -1:
        return backends.Refused(f"axis must be -1, found {call.attrs.axis}")
    return True


def left_is_conv(root: relay.Call) -> bool:
    """A check that examines only the left operand."""
    left = root.args[0]
    return isinstance(left, relay.Call) and left.op.name == "nn.conv2d"


def small_bias(root: relay.Call) -> Any:
    shape = root.args[1].checked_type.shape
    return True if len(shape) == 3 else backends.Refused(f"a bias of shape {tuple(shape)}")


def has_constant_weight(root: relay.Call) -> Any:
    ok = isinstance(root.args[1], relay.Constant)
    return ok or backends.Refused("the weight must be a constant")


def told(table: list[tuple[Any, ...]], body: relay.Expr) -> Explanations:
    """The explanations of an expression for a back end with this pattern table."""
    backends.register(NPU, patterns=table)
    return explain(relay.IRModule.from_expr(body), NPU)


def only(found: Explanations, operator: str) -> Explanation:
    """The explanation of the only call of an operator."""
    (one,) = [e for e in found if e.name == operator]
    return one
