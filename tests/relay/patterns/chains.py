"""Expressions in which the tests of patterns look for matches."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.relay.patterns import is_op

X = relay.var("x", shape=(2, 3))
RELU = is_op("nn.relu")


def chain(n: int, ops: tuple[str, ...] = ("abs",)) -> relay.Expr:
    """`n` unary calls over a relu of X."""
    value: relay.Expr = relay.nn.relu(X)
    for k in range(n):
        value = relay.Call(relay.op.get(ops[k % len(ops)]), [value])
    return value
