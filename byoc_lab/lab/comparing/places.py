"""Places where operators of a module are computed: the host, or a region of a back end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from byoc_lab.printing import printable
from byoc_lab.relay.analysis.annotations import DEFAULT
from byoc_lab.relay.analysis.costs import operator_calls
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.relay.analysis.regions import RegionSet
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.ir.visit import post_order


@dataclass(frozen=True)
class Place:
    """The place where an operator is computed.

    back_end: its name; "" for the host. region: the name of the region, "region 3" before
    PartitionGraph and "@dnnl_0" after it; "" on the host.
    """

    back_end: str = ""
    region: str = ""

    @property
    def owner(self) -> str:
        """The back end in words: "dnnl", or "the host"."""
        return self.back_end or "the host"

    @printable
    def __str__(self) -> str:
        return f"{self.region} of {self.back_end}" if self.back_end else self.owner


HOST = Place()


def places_of(mod: IRModule, numbers: Numbers) -> dict[Call, Place]:
    """The place of each operator call of a module, in the order of evaluation.

    numbers: the numbers of its regions, by the begin annotation. A region of the back end "default"
    is on the host.
    """
    if isinstance(mod, UnparsedModule):
        return {}
    found: dict[Call, Place] = {}
    for gv, function in mod.functions.items():
        found |= _places_in(function, f"@{gv.name_hint}", numbers)
    return {call: found[call] for f in mod.functions.values() for call in operator_calls(f)}


def _places_in(function: Function, name: str, numbers: Numbers) -> dict[Call, Place]:
    regions = RegionSet(function, _ignore)
    found: dict[Call, Place] = {}

    def place(node: Expr, outer: Place) -> Place:
        region = regions.of(node)
        if region is None or region.target == DEFAULT:
            return outer
        return Place(region.target, f"region {numbers[regions.first_begin(region)]}")

    entered: dict[Function, Place] = {function: _own(function, name) or HOST}
    to_enter = [function]
    while to_enter:
        current = to_enter.pop()
        nodes = list(post_order(current.body, enter=lambda n: not isinstance(n, Function)))
        calls = [n for n in nodes if isinstance(n, Call)]
        found.update((call, place(call, entered[current])) for call in calls)
        called = {call.op: found[call] for call in calls if isinstance(call.op, Function)}
        for literal in (n for n in nodes if isinstance(n, Function) and n not in entered):
            outer = called.get(literal, entered[current])
            entered[literal] = _own(literal, name) or outer
            to_enter.append(literal)
    return found


def _own(function: Function, name: str) -> Place | None:
    """The place of the operators in a function that is compiled for a back end."""
    compiler = str(function.attrs.get("Compiler", DEFAULT))
    if compiler == DEFAULT:
        return None
    symbol = function.attrs.get("global_symbol")
    return Place(compiler, f"@{symbol}" if symbol else name)


def _ignore(kind: str, node: Expr, details: Mapping[str, Any]) -> None:
    """Ignores malformed annotations, because lint reports them."""
