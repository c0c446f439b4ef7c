"""Extraction of an expression by its number, and the frequency of operators.

Source: src/relay/analysis/extract_intermediate_expr.cc and extract_operators.cc of TVM 0.16.
"""

from __future__ import annotations

from collections import Counter

from byoc_lab.errors import UnknownNameError
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import is_dataflow, post_order


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """A module whose @main computes the expression that is `%expr_id` in the text of @main.

    The spelling is TVM's. Numbers count calls, tuples and projections in evaluation order; in most
    modules these are the numbers in the text. Raises UnknownNameError for a number out of range.
    """
    numbered = [n for n in post_order(mod["main"]) if is_dataflow(n)]
    if not 0 <= expr_id < len(numbered):
        raise UnknownNameError(
            f"@main has no expression %{expr_id}; it has %0 to %{len(numbered) - 1}"
            if numbered
            else f"@main has no expression %{expr_id}; it has no numbered expressions"
        )
    return IRModule.from_expr(numbered[expr_id])


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """The number of calls of each operator in @main and the functions inside it."""
    calls = (n for n in post_order(mod["main"]) if isinstance(n, Call))
    return dict(Counter(n.op.name for n in calls if isinstance(n.op, Op)))
