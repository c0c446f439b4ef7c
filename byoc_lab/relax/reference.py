"""Converts a whole Relax function to Relay, for its NumPy reference and for code generators of
`register`.

Only the computed values matter here; DNNL need not support the calls.
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
    """The equivalent typed Relay function. Raises BuildError with the name of an operator without a
    counterpart."""
    return to_relay(function.with_attr("global_symbol", "main"), any_counterpart)[0]


def region_in_relay(function: Any, *, composites: bool = False) -> Function:
    """The Relay function of a region that its code generator receives.

    composites: as for `to_relay`. Raises BuildError with the name of an operator without a
    counterpart.
    """
    compiler = str(function.attrs[CODEGEN])
    own = compiler == TARGET  # DNNL's forms of some operators differ
    translate = translated if own else any_counterpart
    made, symbol = to_relay(function, translate, composites=composites)
    return made.with_attr("Compiler", compiler).with_attr("global_symbol", symbol)


def region_if_any(function: Any) -> Function | None:
    """Like `region_in_relay`, but None if an operator has no counterpart."""
    try:
        return region_in_relay(function)
    except BuildError:
        return None
