"""Costs of Relax operators, by the formulas of their counterparts in Relay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from byoc_lab.errors import ByocLabError
from byoc_lab.relax.backends import stand_in_of
from byoc_lab.relax.ir.calls import (
    COMPOSITE,
    OperatorCall,
    called_functions,
    functions_of,
    operator_calls,
    region_functions,
)
from byoc_lab.relax.to_relay import call_to_relay
from byoc_lab.relay.analysis.costs import Cost, cost
from byoc_lab.relay.ir.expr import Function
from byoc_lab.run.metering.cards import RegionInfo


def host_work(mod: Any) -> Cost:
    """The cost of the operator calls outside of regions, those of a composite at each of its
    calls."""
    sites, regions, total = Counter(called_functions(mod)), region_functions(mod), Cost()
    for name, function in functions_of(mod):
        if name not in regions:
            composite = bool(function.attrs) and COMPOSITE in function.attrs
            total += host_cost(operator_calls(function)) * (sites[name] if composite else 1)
    return total


def host_cost(calls: Iterable[OperatorCall]) -> Cost:
    """The cost of operator calls that stay on the host."""
    total = Cost()
    for each in calls:
        flops = call_flops(each.call)
        total += Cost(flops or 0, 1, flops is None)
    return total


def call_flops(call: Any) -> int | None:
    """Floating-point operations of a Relax operator call, with `batch.NOMINAL` for an unknown
    batch. None if there is no formula."""
    try:
        found = cost(call_to_relay(call))
    except ByocLabError:  # no counterpart, so no formula
        return None
    return None if found.unknown else found.flops


def region_facts(
    symbol: str, compiler: str, function: Any, made: Function | None, sites: int = 1
) -> RegionInfo:
    """Static information on a region. made: its counterpart in Relay, if any. sites: the number of
    its calls in the module."""
    count = sum(1 for _ in operator_calls(function))
    missing = stand_in_of(compiler)
    if made is None:
        return RegionInfo(symbol, compiler, None, count, sites=sites, stand_in=missing)
    found = RegionInfo.of(made, symbol, compiler, operators=count, stand_in=missing)
    return replace(found, sites=sites)
