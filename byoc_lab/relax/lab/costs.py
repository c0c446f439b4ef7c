"""Costs of Relax operators, by the formulas of their counterparts in Relay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from byoc_lab.errors import ByocLabError
from byoc_lab.relax.backends import stand_in_of
from byoc_lab.relax.ir.calls import OperatorCall, operator_calls
from byoc_lab.relax.to_relay import call_to_relay
from byoc_lab.relay.analysis.costs import Cost, cost
from byoc_lab.relay.ir.expr import Function
from byoc_lab.run.metering.cards import RegionInfo


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
