"""TVM 0.16's whole DNNL pattern table: byoc_lab's own, and the two entries that it does not have,
since its back end runs no quantised operators. A table that both sides of a comparison use has to
be the same."""

from __future__ import annotations

from typing import Any

from byoc_lab import relay
from byoc_lab.relay.dataflow_pattern import DFPattern, is_constant, is_expr, is_op, wildcard
from byoc_lab.relay.op.contrib import dnnl

QUANTISED = ("qnn.conv2d", "qnn.dense")


def pattern_table() -> list[tuple[Any, ...]]:
    """The entries, in TVM's order."""
    return [*((f"dnnl.{name}", _quantised(name)) for name in QUANTISED), *dnnl.pattern_table()]


def _quantised(name: str) -> DFPattern:
    zero = is_expr(relay.const(0, "int32"))
    op = is_op(name)(wildcard(), is_constant(), zero, zero, is_constant(), is_constant())
    op = is_op("cast")(op)
    op = (op + is_constant()) | op
    op = is_op("clip")(op * is_constant())
    op = (op * is_constant()) | op
    op = (op + is_constant() * is_op("cast")(wildcard())) | op
    op = (op + is_constant()) | op
    return is_op("cast")(op)
