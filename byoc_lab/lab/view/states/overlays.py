"""Overlays: what other functions found about the nodes of a trace, as plain data for its graph.

    reasons   {id of a call: {cause, lines}}: why it is on the host, from `explain`; lines: [name,
              text], such as ["expected", "a constant"]
    numbers   {name of an overlay: {unit, most, values: {id of an external function: number}}}:
              "time" from cards (microseconds), "error" from a report (share of the tolerance);
              most: whether a group has the largest of its values, not their sum
    kernels   {id of a node in an external function: what computes it}, from cards; that of the
              function has all of its kernels

Operations and bytes are in the scene (see `scene.py`), since they follow from the types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from byoc_lab.errors import ArgumentError
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.explaining import Explanation, Explanations
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.relay.analysis.costs import operator_calls
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.metering.cards import Cards, OpCard, RegionCard

State = dict[str, Any]


def overlays_of(trace: Trace, ids: Ids, found: Iterable[Any]) -> State:
    """The overlays of a trace, whose nodes have their ids.

    found: results of `explain` for the input of the trace, of `validate` for its result, and cards
    of its build. Raises ArgumentError for anything else, or if nothing of it is in the trace.
    """
    made: State = {"reasons": {}, "numbers": {}, "kernels": {}}
    for obj in found:
        if isinstance(obj, Explanations):
            placed = _add_reasons(made["reasons"], ids, obj)
        elif isinstance(obj, Report):
            values = {c.name.lstrip("@"): c.share for c in obj.regions}
            placed = _add_numbers(made, "error", "of the tolerance", True, trace, ids, values)
        elif isinstance(obj, Cards):
            placed = _add_cards(made, trace, ids, obj)
        else:
            raise ArgumentError(
                f"overlays are results of explain and validate, and cards of an executable "
                f"(byoc_lab.build(trace.result).cards()); found {type(obj).__name__}"
            )
        if not placed:
            raise ArgumentError(
                f"nothing of this {type(obj).__name__} is in the trace: explain the module that "
                f"was traced, and build or validate trace.result"
            )
    return made


# ---- reasons ------------------------------------------------------------------------------------


def _add_reasons(reasons: State, ids: Ids, found: Explanations) -> bool:
    """Add why calls are on the host; calls with one reason share the change of the first."""
    for group in found.groups:
        change = str(group[0].change or group[0].without_change)
        for explanation in group:
            ident = ids.get(explanation.call)
            if ident is not None:
                reasons[ident] = _reason(explanation, change)
    return any(ids.get(e.call) is not None for e in found)


def _reason(found: Explanation, change: str) -> State:
    nearest = found.nearest
    lines = [
        ["reason", found.reason],
        ["nearest pattern", str(nearest) if nearest and nearest.matched > 1 else ""],
        ["expected", found.expected],
        ["found", found.found],
        ["change to try", change],
    ]
    return {"cause": found.cause, "lines": [line for line in lines if line[1]]}


# ---- numbers and kernels ------------------------------------------------------------------------


def _add_numbers(
    made: State, name: str, unit: str, most: bool, trace: Trace, ids: Ids, values: dict[str, float]
) -> bool:
    """Add an overlay with a number for each region."""
    known = {
        i: float(values[symbol])
        for symbol, func in _regions(trace)
        if symbol in values and (i := ids.get(func)) is not None
    }
    if known:
        made["numbers"][name] = {"unit": unit, "most": most, "values": known}
    return bool(known)


def _add_cards(made: State, trace: Trace, ids: Ids, cards: Cards) -> bool:
    by_symbol = {card.symbol: card for card in cards}
    times = {s: c.time_us for s, c in by_symbol.items() if c.time_us is not None}
    _add_numbers(made, "time", "µs", False, trace, ids, times)
    placed = False
    for symbol, func in _regions(trace):
        if symbol not in by_symbol:
            continue
        placed = True
        card = by_symbol[symbol]
        if (ident := ids.get(func)) is not None:
            made["kernels"][ident] = _of_region(card)
        for node, number in _kernels(func, card).items():
            if (ident := ids.get(node)) is not None:
                made["kernels"][ident] = _of_kernel(symbol, number, card.ops[number - 1])
    return placed


def _of_region(card: RegionCard) -> str:
    if not card.offloaded:
        return f"ran on {card.ran_on}, not on {card.compiler}: {card.why}"
    return "; ".join([f"ran on {card.ran_on}, {card.calls} calls", *map(str, card.ops)])


def _of_kernel(symbol: str, number: int, op: OpCard) -> str:
    fused = f", post-op{'s' if len(op.fused) > 1 else ''} {', '.join(op.fused)}" if op.fused else ""
    apart = f", then by themselves {', '.join(op.separate)}" if op.separate else ""
    return f"now in @{symbol}, kernel {number}: {op.impl or op.name}{fused}{apart}"


def _regions(trace: Trace) -> Iterator[tuple[str, Function]]:
    """The external functions of a trace's result, by symbol."""
    result = trace.result if trace.error is None else None
    for gv, func in result.functions.items() if isinstance(result, IRModule) else ():
        if "Compiler" in func.attrs:
            yield str(func.attrs.get("global_symbol", gv.name_hint)), func


def _kernels(func: Function, card: RegionCard) -> dict[Expr, int]:
    """The kernel, from 1, of each operator and composite of a region.

    Kernels have the names of the operators that they begin with, in the order of the region. A step
    without a kernel of its own is fused into the one before it. Where the two do not agree, nothing
    is said of any operator.
    """
    steps = [
        node
        for node in post_order(func.body, enter=lambda n: not isinstance(n, Function))
        if isinstance(node, Call)
    ]
    inside = [
        list(operator_calls(step.op.body)) if isinstance(step.op, Function) else [step]
        for step in steps
    ]
    found: dict[Expr, int] = {}
    at = 0
    for step, calls in zip(steps, inside, strict=True):
        names = [call.op_name for call in calls]
        while at < len(card.ops) and card.ops[at].name.rpartition("_")[0] in names:
            names.remove(card.ops[at].name.rpartition("_")[0])
            at += 1
        if at:
            found.update(dict.fromkeys([step, *calls], at))
    return found if at == len(card.ops) else {}
