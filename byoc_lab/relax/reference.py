"""A whole Relax function in Relay, for its NumPy reference: DNNL's operators and more.

What a call computes is all that counts here; DNNL need not support it.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import BuildError
from byoc_lab.relax.calls import CODEGEN
from byoc_lab.relax.operators import OPERATORS, shared, translated
from byoc_lab.relax.registration import TARGET
from byoc_lab.relax.to_relay import to_relay
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.op.framework.from_relax import counterpart


def reference_function(function: Any) -> Function:
    """A typed Relay function that computes the same. Raises BuildError, naming the operator that
    has no counterpart."""
    return to_relay(function.with_attr("global_symbol", "main"), any_counterpart)[0]


def region_in_relay(function: Any, *, composites: bool = False) -> Function:
    """The function of a region as its code generator gets it, in Relay.

    composites: as for `to_relay`. Raises BuildError, naming the operator that has no counterpart.
    """
    own = str(function.attrs[CODEGEN]) == TARGET  # DNNL's forms of some operators are others
    return to_relay(function, translated if own else any_counterpart, composites=composites)[0]


def region_if_any(function: Any) -> Function | None:
    """The same; None where an operator has no counterpart."""
    try:
        return region_in_relay(function)
    except BuildError:
        return None


def any_counterpart(call: Any, operands: list[Any]) -> Expr:
    """A call of an operator in Relay, whether DNNL has the operator or not. Raises BuildError."""
    name = str(call.op.name).removeprefix("relax.")
    if counterpart(name) is not None:
        return shared(name)(call, *operands)
    if name not in OPERATORS:
        raise BuildError(f"byoc_lab has no counterpart of relax.{name} in Relay")
    return OPERATORS[name](call, *operands)
