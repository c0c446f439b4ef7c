"""A whole Relax function in Relay, for its NumPy reference: DNNL's operators and more.

What a call computes is all that counts here; DNNL need not support it.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import BuildError
from byoc_lab.relax.operators import OPERATORS, shared
from byoc_lab.relax.to_relay import to_relay
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.op.framework.from_relax import counterpart


def reference_function(function: Any) -> Function:
    """A typed Relay function that computes the same. Raises BuildError, naming the operator that
    has no counterpart."""
    return to_relay(function.with_attr("global_symbol", "main"), _translated)[0]


def _translated(call: Any, operands: list[Any]) -> Expr:
    name = str(call.op.name).removeprefix("relax.")
    if counterpart(name) is not None:
        return shared(name)(call, *operands)
    if name not in OPERATORS:
        raise BuildError(f"the reference has no counterpart of relax.{name}")
    return OPERATORS[name](call, *operands)
