"""Overlays (`messages.Overlays`): results of other functions for the nodes of a trace.

Operations and bytes are part of the scene, because they follow from the types.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from byoc_lab.errors import ArgumentError, counted
from byoc_lab.lab.checking.coverage import Coverages
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.explaining import Explanations
from byoc_lab.lab.explaining.answer import Answer
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.messages import Overlays, Reason, Table
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.node_ids import NodeIds, kernel_calls
from byoc_lab.lab.view.states.tables import tables_of
from byoc_lab.run.metering.cards import Cards, RegionCard
from byoc_lab.run.metering.op_cards import OpCard

LARGEST = 1e30  # largest share to show; JSON has no infinity


def overlays_of(trace: Trace, ids: Ids, found: Iterable[Any]) -> Overlays:
    """The overlays of a trace, whose nodes have their ids.

    found: results of `explain`, `coverage` and `bisect` for the input of the trace, of `validate`
    for its result, and cards of its build. Raises ArgumentError for anything else, or if the trace
    contains none of its nodes.
    """
    made: Overlays = {"reasons": {}, "numbers": {}, "kernels": {}, "tables": []}
    node_ids = NodeIds(trace, ids)
    flat = [each for obj in found for each in (obj if isinstance(obj, Coverages) else [obj])]
    for obj in flat:
        tables = tables_of(node_ids, obj)
        if not _belongs_to_trace(node_ids, obj, tables):
            raise ArgumentError(
                f"nothing of this {type(obj).__name__} is in the trace: explain the module "
                f"that was traced, or bisect it; build or validate trace.result"
            )
        made["tables"] += tables
        if isinstance(obj, Explanations):
            _add_reasons(made["reasons"], ids, obj)
        elif isinstance(obj, Report):
            _add_numbers(made, "error", True, _errors(node_ids, obj))
        elif isinstance(obj, Cards):
            _add_cards(made, node_ids, obj)
    return made


def _belongs_to_trace(node_ids: NodeIds, obj: Any, tables: list[Table]) -> bool:
    """Whether the trace contains a node that a result describes, or the result describes none."""
    if isinstance(obj, Explanations):  # offloaded calls count, although they have no reasons
        return any(node_ids.ids.get(e.call) is not None for e in obj)
    rows = [row for table in tables for row in table["rows"]]
    return not rows or any(row["node"] or row["stage"] is not None for row in rows)


# ---- reasons ------------------------------------------------------------------------------------


def _add_reasons(reasons: dict[str, Reason], ids: Ids, found: Explanations[Any]) -> None:
    """Add the reasons why calls are not offloaded; calls with one reason share a change."""
    for group in found.groups:
        for explanation in group:
            ident = ids.get(explanation.call)
            if ident is not None:
                reasons[ident] = _reason(explanation, group.change_in_words)


def _reason(found: Answer, change: str) -> Reason:
    nearest = found.nearest
    lines = [
        ["reason", found.reason],
        ["nearest pattern", str(nearest) if nearest and nearest.matched > 1 else ""],
        ["expected", found.expected],
        ["found", found.found],
        ["change to try", change],
    ]
    said = [line for line in lines if line[1]]
    return {"place": found.elsewhere, "cause": found.cause, "lines": said}


# ---- numbers and kernels ------------------------------------------------------------------------


def _add_numbers(made: Overlays, name: str, most: bool, values: dict[str, float]) -> None:
    """Add an overlay with these numbers."""
    if values:
        made["numbers"][name] = {"most": most, "values": values}


def _errors(node_ids: NodeIds, report: Report) -> dict[str, float]:
    """The error of each checked region and operator; the largest of several errors."""
    found: dict[str, float] = {}
    for comparison in (*report.regions, *report.operators):
        ident = node_ids.compared(comparison)
        if ident is not None:
            share = min(comparison.share, LARGEST)
            found[ident] = max(share, found.get(ident, 0.0))
    return found


def _add_cards(made: Overlays, node_ids: NodeIds, cards: Cards) -> None:
    times: dict[str, float] = {}
    for card in cards:
        func = node_ids.function(card.symbol)
        if func is None:
            continue
        if (ident := node_ids.ids.get(func)) is not None:
            made["kernels"][ident] = _of_region(card)
            if card.time_us is not None:
                times[ident] = card.time_us
        heads = kernel_calls(func, card)
        for call, number in heads.inside.items():
            if (ident := node_ids.ids.get(call)) is not None:
                made["kernels"][ident] = _of_kernel(card.symbol, number, card.ops[number - 1])
        for call, op in zip(heads.first, card.ops, strict=False):
            if op.time_us is not None and (ident := node_ids.ids.get(call)) is not None:
                times[ident] = op.time_us
    _add_numbers(made, "time", False, times)


def _of_region(card: RegionCard) -> str:
    if not card.offloaded:
        return f"ran on {card.ran_on}, not on {card.compiler}: {card.why_not_offloaded}"
    ran = f"{'ran' if card.calls else 'runs'} on {card.ran_on}, {counted(card.calls, 'call')}"
    return "; ".join([ran, *map(str, card.ops)])


def _of_kernel(symbol: str, number: int, op: OpCard) -> str:
    fused = f", post-op{'s' if len(op.fused) > 1 else ''} {', '.join(op.fused)}" if op.fused else ""
    apart = f", then by themselves {', '.join(op.separate)}" if op.separate else ""
    return f"now in @{symbol}, kernel {number}: {op.impl or op.name}{fused}{apart}"
