"""Regions of a Relax module after RunCodegen: calls of compiled code, whose operators are no longer
known."""

from __future__ import annotations

from collections import Counter
from typing import Any

from byoc_lab.relax import backends
from byoc_lab.relax.ir.calls import COMPILED, host_functions, is_compiled
from byoc_lab.relax.registration import TARGET, is_registered
from byoc_lab.run.metering.cards import RegionInfo
from byoc_lab.run.metering.meter import native_modules
from byoc_lab.run.tvm_runtime import import_tvm

CALL = "relax.call_dps_packed"


def compiled_regions_of(mod: Any) -> list[RegionInfo]:
    """Static information on the compiled regions that a module calls, in the order of the calls."""
    if not is_compiled(mod):
        return []
    modules = list(mod.attrs[COMPILED])
    native = {symbol for each in modules for symbol in native_modules(each)}
    sites = Counter(
        symbol
        for symbol in _packed_calls(mod)
        if symbol in native or any(each.implements_function(symbol) for each in modules)
    )
    return [
        RegionInfo(symbol, name, None, 0, sites=count, stand_in=backends.stand_in_of(name))
        for symbol, count in sites.items()
        for name in [TARGET if symbol in native else _compiler(symbol)]
    ]


def _packed_calls(mod: Any) -> list[str]:
    """The symbols of called packed functions, one per call in the module."""
    relax = import_tvm().relax
    found: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, relax.Call) and str(getattr(node.op, "name", "")) == CALL:
            found.append(str(node.args[0].global_symbol))

    for function in host_functions(mod):
        relax.analysis.post_order_visit(function, visit)
    return found


def _compiler(symbol: str) -> str:
    """The back end that compiled a function: TVM passes append the back end's name to the
    function's name.     "compiled code" if it is not registered."""
    ends = (name for name in backends.names() if symbol.endswith(f"_{name}"))
    return next(filter(is_registered, ends), "compiled code")
