"""Tables (`messages.Table`) of results (explain, validate, bisect, coverage, cards), linked to the
picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from byoc_lab.errors import ArgumentError, counted
from byoc_lab.lab.checking.bisected import Bisection, Checked
from byoc_lab.lab.checking.call_sites import CallSite, called, calls_of
from byoc_lab.lab.checking.coverage import Coverage
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.explaining import Explanations
from byoc_lab.lab.view.messages import Row, Table
from byoc_lab.lab.view.states.node_ids import NodeIds, kernel_calls
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.analysis.costs import call_flops
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.metering.cards import Cards

MAX_ROWS = 300
Columns = Sequence[tuple[str, bool]]


def tables_of(node_ids: NodeIds, found: Any) -> list[Table]:
    """The tables of a result. Raises ArgumentError for an object without tables."""
    for kind, make in _MAKERS.items():
        if isinstance(found, kind):
            return [make(node_ids, found)]
    raise ArgumentError(
        f"overlays are results of explain, validate, bisect and coverage, and cards of an "
        f"executable (byoc_lab.build(trace.result).cards()); found {type(found).__name__}"
    )


def _table(name: str, summary: str, columns: Columns, rows: Sequence[Row]) -> Table:
    return {
        "name": name,
        "summary": summary,
        "columns": [list(column) for column in columns],
        "rows": list(rows[:MAX_ROWS]),
        "left_out": max(0, len(rows) - MAX_ROWS),
    }


def _row(node: str | None, stage: int | None, wrong: bool, *cells: str) -> Row:
    return {"node": node, "stage": stage, "wrong": wrong, "cells": list(cells)}


def _explain(node_ids: NodeIds, found: Explanations[Any]) -> Table:
    """The calls that are not offloaded, most work first; calls with one reason share one change."""
    rows = []
    for group in found.groups:
        for e in group:
            node = node_ids.ids.get(e.call)
            cells = (e.name, e.elsewhere, e.cause or "", _count(e.flops), group.change_in_words)
            row = _row(node, 0, False, *cells)
            if node is None:
                row["stage"] = None
            rows.append((-(e.flops or 0), row))
    rows.sort(key=lambda pair: pair[0])
    columns = (
        ("not offloaded", False), ("where", False), ("cause", False), ("FLOP", True),
        ("change to try", False),
    )  # fmt: skip
    return _table("explain", found.summary, columns, [row for _, row in rows])


def _validate(node_ids: NodeIds, found: Report) -> Table:
    """The comparisons, by error divided by tolerance, the largest first."""
    rows = []
    for c in sorted(found.comparisons, key=lambda c: -c.share):
        node = node_ids.compared(c)
        stage = node_ids.last if node else None
        error = f"{c.largest_error:.2g}"
        rows.append(_row(node, stage, not c.ok, c.name, _share(c.share), error, c.verdict))
    columns = (
        ("compared", False), ("of tolerance", True), ("largest error", True), ("verdict", False)
    )  # fmt: skip
    verdict = "valid" if found.ok else f"NOT VALID: {len(found.wrong)} of the comparisons"
    return _table("validate", verdict, columns, rows)


def _bisect(node_ids: NodeIds, found: Bisection) -> Table:
    """The compared modules and kernels: wrong ones first, then in the order of stages and
    kernels."""
    rows = []
    for c in sorted(found.checked, key=lambda c: (c.ok, 0 if c.ok else c.index or 0, -c.share)):
        node, stage = _node_and_stage(node_ids, found, c)
        what = c.name if c.index is None else f"after stage {c.index + 1}, {c.name}"
        verdict = "same" if c.ok else "differs"
        if not c.ok and c.index is not None and c.index == found.index:
            verdict = "the first that differs"
        rows.append(_row(node, stage, not c.ok, what, _share(c.share), verdict))
    columns = (("compared", False), ("of tolerance", True), ("result", False))
    return _table("bisect", found.verdict, columns, rows)


def _node_and_stage(
    node_ids: NodeIds, found: Bisection, c: Checked
) -> tuple[str | None, int | None]:
    """The node that a row describes, and the stage that shows it."""
    if c.index is None:
        node = node_ids.at(c.call_site)
        return node, node_ids.last if node else None
    stages = node_ids.trace.stages
    at = next((n for n, s in enumerate(stages) if s.index == c.index and s.name == c.name), None)
    if at is None or c.index != found.index:
        return None, at
    for mod in (stages[at].after, stages[at].before):
        node = node_ids.at(found.call_site, mod) if isinstance(mod, IRModule) else None
        if node is not None:
            return node, at
    return None, at


def _coverage(node_ids: NodeIds, found: Coverage) -> Table:
    """Operators on the host, most work first, then regions, least work first."""
    columns = (("computed by", False), ("what", False), ("FLOP", True), ("bytes in and out", True))
    main = found.result["main"] if isinstance(found.result, IRModule) else None
    host = [
        (call_flops(call), call.op.name, CallSite("main", n, called(call)))
        for n, call in enumerate(calls_of(main) if main is not None else ())
        if isinstance(call.op, Op) and not is_annotation(call)
    ]
    rows = []
    for flops, name, site in sorted(host, key=lambda each: -(each[0] or 0)):
        node = node_ids.at(site)
        stage = node_ids.last if node else None
        rows.append(_row(node, stage, False, "host", name, _count(flops), ""))
    for region in sorted(found.regions, key=lambda r: r.flops or 0):
        node = node_ids.region(region.symbol)
        what = f"@{region.symbol}: {counted(region.operators, 'operator')}"
        cells = (found.backend, what, _count(region.flops), _count(region.bytes))
        rows.append(_row(node, node_ids.last if node else None, False, *cells))
    return _table("coverage", found.heading, columns, rows)


def _cards(node_ids: NodeIds, found: Cards) -> Table:
    """Regions that fell back first, then regions and their kernels, the slowest first."""
    rows = []
    for card in found:
        node = node_ids.region(card.symbol)
        stage = node_ids.last if node else None
        why = "" if card.offloaded else f": {card.why_not_offloaded}"
        peak = card.share_of_peak
        cells = (
            f"@{card.symbol}", _time(card.time_us), f"{peak:.0%}" if peak is not None else "",
            f"{card.ran_on}{why}, {counted(card.calls, 'call')}",
        )  # fmt: skip
        row = _row(node, stage, not card.offloaded, *cells)
        rows.append(((card.offloaded, -(card.time_us or 0), ""), row))
        func = node_ids.function(card.symbol)
        heads = kernel_calls(func, card).first if func is not None else []
        for n, op in enumerate(card.ops):
            inner = node_ids.ids.get(heads[n]) if n < len(heads) else None
            fused = "".join(f" + {name}" for name in op.fused)
            words = (f"{op.name}{fused}", _time(op.time_us), "", op.impl or "no kernel")
            kernel = _row(inner, stage if inner else None, False, *words)
            rows.append(((True, -(op.time_us or 0), "kernel"), kernel))
    rows.sort(key=lambda pair: pair[0])
    columns = (
        ("region or kernel", False),
        ("time", True),
        ("of matmul rate", True),
        ("ran on", False),
    )
    fell = sum(not card.offloaded for card in found)
    summary = counted(len(found), "region") + (f", {fell} of them fell back" if fell else "")
    return _table("cards", summary, columns, [row for _, row in rows])


_MAKERS: dict[type, Callable[[NodeIds, Any], Table]] = {
    Explanations: _explain,
    Report: _validate,
    Bisection: _bisect,
    Coverage: _coverage,
    Cards: _cards,
}


def _share(share: float) -> str:
    return "∞" if share == inf else f"{share:,.2g} times" if share > 10 else f"{share:.1%}"


def _time(time_us: float | None) -> str:
    return f"{time_us:,.0f} µs" if time_us is not None else ""


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"
