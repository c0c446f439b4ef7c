"""The content of the stepper as text: a table of stages, and the changes of one stage.

Colour is never the only sign: outcomes are words, and changed lines start with + or -.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from byoc_lab.errors import counted
from byoc_lab.lab.diffing import Diff, Row
from byoc_lab.lab.diffing.text import near_changes, skipped_text
from byoc_lab.lab.linting import Finding
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.lab.view.states.captions import outcome_text, seconds_text
from byoc_lab.lab.view.states.hunks import text_lines
from byoc_lab.lab.view.states.state import STAT_LABELS, nested_text
from byoc_lab.printing import columns
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.text.printer_lines import Line

_FindingsByNode = dict[Expr | None, list[Finding]]

_ANSI = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}
_SIGNS = {"error": "✖", "warning": "▲", "info": "●"}
_SEVERITY_COLOUR = {"error": "red", "warning": "yellow", "info": "cyan"}


def wants_colour(stream: TextIO | None = None) -> bool:
    """Whether to colour output to `stream` (default: stdout): a terminal, NO_COLOR not set."""
    stream = sys.stdout if stream is None else stream
    return not os.environ.get("NO_COLOR") and stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, on: bool) -> str:
    """`text` in an ANSI colour when `on`."""
    return f"\x1b[{_ANSI[colour]}m{text}\x1b[0m" if on and colour and text else text


def trace_text(trace: Trace, colour: bool = False) -> str:
    """One line per stage: outcome, time, operators offloaded and on the host, findings; then the
    error and the new findings of each stage."""
    rows = [("#", "stage", "outcome", "time", "offloaded", "host", "regions", "lint")]
    paints: list[dict[int, str]] = [dict.fromkeys(range(8), "bold")]
    for n, stage in enumerate(trace.stages):
        last = stage.before if stage.after is None else stage.after
        found = stage.findings_before if stage.after is None else stage.findings_after
        unparsed = isinstance(last, UnparsedModule)
        stats = dict.fromkeys(STAT_LABELS, "?") if unparsed else picture_of(last).stats()
        rows.append(
            (
                str(n),
                stage.name,
                outcome_text(stage),
                seconds_text(stage.seconds),
                str(stats["offloaded"]),
                str(stats["host"]),
                str(stats["regions"]),
                findings_tally(found),
            )
        )
        worst = next((s for s in _SIGNS if any(str(f.severity) == s for f in found)), None)
        paints.append(
            {
                2: "red" if stage.error else "cyan" if stage.changed else "dim",
                7: _SEVERITY_COLOUR[worst] if worst else "dim",
            }
        )
    changed = sum(bool(s.changed) for s in trace.stages)
    total = sum(s.seconds or 0.0 for s in trace.stages)
    count = f"{counted(len(trace.stages), 'stage')}"
    head = f"{trace.title}: {count}, {changed} changed the module"
    lines = [paint(f"{head}, {seconds_text(total)}", "bold", colour)]
    lines += _table(rows, paints, colour)
    for n, stage in enumerate(trace.stages):
        if stage.error is not None:
            name = type(stage.error).__name__
            lines += ["", paint(f"✖ {stage.name} raised {name}:", "red", colour)]
            lines += [f"  {line}" for line in str(stage.error).splitlines()]
        # Findings that the stage before already had are listed there.
        known = {f.message for f in stage.findings_before} if n else set()
        new = [f for f in stage.findings_after if f.message not in known]
        if new:
            when = "before" if stage.after is None else "after"
            head = f"Findings in the module {when} {stage.name}:"
            lines += ["", paint(head, "bold", colour)]
            lines += [f"  {line}" for f in new for line in str(f).splitlines()]
    return "\n".join(lines)


def outline_text(trace: Trace) -> str:
    """One line per stage: outcome and time. For large traces, whose full text is expensive."""
    rows = [("#", "stage", "outcome", "time")]
    rows += [
        (str(n), stage.name, outcome_text(stage), seconds_text(stage.seconds))
        for n, stage in enumerate(trace.stages)
    ]
    head = f"{trace.title}: {counted(len(trace.stages), 'stage')} of a large module"
    note = "(print(trace) also counts operators and looks for findings, which takes longer)"
    return "\n".join([head, *_table(rows, [{} for _ in rows], False), note])


def _table(
    rows: Sequence[tuple[str, ...]], paints: list[dict[int, str]], colour: bool
) -> list[str]:
    """The lines of a table of stages, whose numbers are aligned to the right."""

    def painted(row: int, column: int, text: str) -> str:
        return paint(text, paints[row].get(column, ""), colour)

    return columns(rows, right=(0, 3, 4, 5, 6), paint=painted)


def stage_text(trace: Trace, index: int, context: int = 3, colour: bool = False) -> str:
    """The changes of one stage as a unified diff, with its findings under the lines they point at.

    `context`: the number of unchanged lines around each change. Raises StageIndexError for a stage
    that the trace does not have.
    """
    stage = trace[index]
    title = paint(f"[{index}] {stage.name}", "bold", colour)
    if stage.nested:
        title += f" ({nested_text(stage)})"
    if stage.after is None:
        return f"{title}: failed\n" + module_text(stage.before, stage.findings_before, colour)
    if not stage.changed:
        return f"{title}: " + (f"not run, {stage.skipped}" if stage.skipped else "no change")
    delta = stage.diff()
    body = _unified(delta.rows(), context, colour, stage.findings_after)
    return "\n".join([f"{title}: {delta.summary}", *body])


def diff_text(delta: Diff, context: int = 3, colour: bool = False) -> str:
    """A `Diff` as its summary and a unified diff."""
    return "\n".join([str(delta.summary), *_unified(delta.rows(), context, colour, ())])


def module_text(
    mod: IRModule | Expr, findings: Iterable[Finding] = (), colour: bool = False
) -> str:
    """The text of a module with its findings under the lines they point at."""
    lines: list[str] = []
    under = _by_node(findings)
    for line in text_lines(mod):
        lines.append(f"  {line.text}")
        lines += _notes(line, under, colour)
    lines += [_note(f, colour) for f in under.pop(None, [])]
    return "\n".join(lines)


def _unified(
    rows: Sequence[Row], context: int, colour: bool, findings: Iterable[Finding]
) -> list[str]:
    """Rows as lines with + and -, with `context` unchanged lines around each change."""
    near = near_changes(rows, context)
    lines: list[str] = []
    under = _by_node(findings)
    skipped = 0
    for row, shown in zip(rows, near, strict=True):
        if not shown:
            skipped += 1
            continue
        if skipped:
            lines.append(paint(skipped_text(skipped), "dim", colour))
            skipped = 0
        if row.after is not None and row.kind == "same":
            lines.append(f"  {row.after.text}")
        if row.before is not None and row.kind in ("removed", "changed"):
            lines.append(paint(f"- {row.before.text}", "red", colour))
        if row.after is not None and row.kind in ("added", "changed"):
            lines.append(paint(f"+ {row.after.text}", "green", colour))
        if row.after is not None:
            lines += _notes(row.after, under, colour)
    if skipped:
        lines.append(paint(skipped_text(skipped), "dim", colour))
    return lines


def _by_node(findings: Iterable[Finding]) -> _FindingsByNode:
    under: _FindingsByNode = {}
    for finding in findings:
        under.setdefault(finding.node, []).append(finding)
    return under


def _notes(line: Line, under: _FindingsByNode, colour: bool) -> list[str]:
    found = under.pop(line.node, []) if line.node is not None else []
    return [_note(f, colour) for f in found]


def _note(finding: Finding, colour: bool) -> str:
    level = str(finding.severity)
    text = f"    {_SIGNS[level]} {finding.code} {finding.message}"
    fix = f"\n      fix: {finding.what_to_do}" if finding.what_to_do else ""
    return paint(text, _SEVERITY_COLOUR[level], colour) + fix


def findings_tally(findings: Iterable[Finding]) -> str:
    """The number of findings of each severity, "✖ 1  ▲ 2"; "-" for none."""
    levels = [str(f.severity) for f in findings]
    parts = [f"{sign} {levels.count(level)}" for level, sign in _SIGNS.items() if level in levels]
    return "  ".join(parts) or "-"
