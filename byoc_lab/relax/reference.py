"""A whole Relax function in Relay, for its NumPy reference and for code generators of `register`.

What a call computes is all that counts here; DNNL need not support it.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import BuildError
from byoc_lab.relax.ir.calls import CODEGEN
from byoc_lab.relax.operators import any_counterpart, translated
from byoc_lab.relax.registration import TARGET
from byoc_lab.relax.to_relay import to_relay
from byoc_lab.relay.ir.expr import Function


def reference_function(function: Any) -> Function:
    """A typed Relay function that computes the same. Raises BuildError, naming the operator that
    has no counterpart."""
    return to_relay(function.with_attr("global_symbol", "main"), any_counterpart)[0]


def region_in_relay(function: Any, *, composites: bool = False) -> Function:
    """The function of a region as its code generator gets it, in Relay.

    composites: as for `to_relay`. Raises BuildError, naming the operator that has no counterpart.
    """
    compiler = str(function.attrs[CODEGEN])
    own = compiler == TARGET  # DNNL's forms of some operators are others
    translate = translated if own else any_counterpart
    made, symbol = to_relay(function, translate, composites=composites)
    return made.with_attr("Compiler", compiler).with_attr("global_symbol", symbol)


def region_if_any(function: Any) -> Function | None:
    """The same; None if an operator has no counterpart."""
    try:
        return region_in_relay(function)
    except BuildError:
        return None
