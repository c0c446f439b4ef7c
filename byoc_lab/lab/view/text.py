"""The content of the stepper as text: a table of stages, and the changes of one stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from byoc_lab.errors import counted
from byoc_lab.lab.diffing import Diff, Row
from byoc_lab.lab.diffing.text import CONTEXT, changed_lines
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

_SIGNS = {"error": "✖", "warning": "▲", "info": "●"}
RIGHT = (0, 3, 4, 5, 6)  # the columns of the stage table that contain numbers


def trace_text(trace: Trace) -> str:
    """One line per stage: outcome, time, operators offloaded and on the host, findings; then the
    error and the new findings of each stage."""
    rows = [("#", "stage", "outcome", "time", "offloaded", "host", "regions", "lint")]
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
    changed = sum(bool(s.changed) for s in trace.stages)
    total = sum(s.seconds or 0.0 for s in trace.stages)
    head = f"{trace.title}: {counted(len(trace.stages), 'stage')}, {changed} changed the module"
    lines = [f"{head}, {seconds_text(total)}", *columns(rows, RIGHT)]
    for n, stage in enumerate(trace.stages):
        if stage.error is not None:
            lines += ["", f"✖ {stage.name} raised {type(stage.error).__name__}:"]
            lines += [f"  {line}" for line in str(stage.error).splitlines()]
        # Findings that an earlier stage already had are listed at that stage.
        known = {f.message for f in stage.findings_before} if n else set()
        new = [f for f in stage.findings_after if f.message not in known]
        if new:
            when = "before" if stage.after is None else "after"
            lines += ["", f"Findings in the module {when} {stage.name}:"]
            lines += [f"  {line}" for f in new for line in str(f).splitlines()]
    return "\n".join(lines)


def outline_text(trace: Trace) -> str:
    """One line per stage: outcome and time. For large traces, because the full text takes long to
    compute."""
    rows = [("#", "stage", "outcome", "time")]
    rows += [
        (str(n), stage.name, outcome_text(stage), seconds_text(stage.seconds))
        for n, stage in enumerate(trace.stages)
    ]
    head = f"{trace.title}: {counted(len(trace.stages), 'stage')} of a large module"
    note = "(print(trace) also counts operators and looks for findings, which takes longer)"
    return "\n".join([head, *columns(rows, RIGHT), note])


def stage_text(trace: Trace, index: int, context: int = CONTEXT) -> str:
    """The changes of one stage as a unified diff, with its findings under the lines they point at.

    `context`: the number of unchanged lines around each change. Raises StageIndexError for a stage
    that the trace does not have.
    """
    stage = trace[index]
    title = f"[{index}] {stage.name}"
    if stage.nested:
        title += f" ({nested_text(stage)})"
    if stage.after is None:
        return f"{title}: failed\n" + module_text(stage.before, stage.findings_before)
    if not stage.changed:
        return f"{title}: " + (f"not run, {stage.skipped}" if stage.skipped else "no change")
    delta = stage.diff()
    body = _unified(delta.rows(), context, stage.findings_after)
    return "\n".join([f"{title}: {delta.summary}", *body])


def diff_text(delta: Diff) -> str:
    """A `Diff` as its summary and a unified diff."""
    lines = changed_lines(delta.rows()) if delta else ()
    return "\n".join([str(delta.summary), *(text for text, _ in lines)])


def module_text(mod: IRModule | Expr, findings: Iterable[Finding] = ()) -> str:
    """The text of a module with its findings under the lines they point at."""
    lines: list[str] = []
    under = _by_node(findings)
    for line in text_lines(mod):
        lines.append(f"  {line.text}")
        lines += _notes(line, under)
    lines += map(_note, under.pop(None, []))
    return "\n".join(lines)


def _unified(rows: Sequence[Row], context: int, findings: Iterable[Finding]) -> list[str]:
    lines: list[str] = []
    under = _by_node(findings)
    for text, line in changed_lines(rows, context):
        lines += [text, *_notes(line, under)]
    return lines


def _by_node(findings: Iterable[Finding]) -> _FindingsByNode:
    under: _FindingsByNode = {}
    for finding in findings:
        under.setdefault(finding.node, []).append(finding)
    return under


def _notes(line: Line | None, under: _FindingsByNode) -> list[str]:
    node = line.node if line is not None else None
    return [_note(f) for f in under.pop(node, [])] if node is not None else []


def _note(finding: Finding) -> str:
    fix = f"\n      fix: {finding.what_to_do}" if finding.what_to_do else ""
    return f"    {_SIGNS[str(finding.severity)]} {finding.code} {finding.message}{fix}"


def findings_tally(findings: Iterable[Finding]) -> str:
    """The number of findings of each severity, "✖ 1  ▲ 2"; "-" for none."""
    levels = [str(f.severity) for f in findings]
    parts = [f"{sign} {levels.count(level)}" for level, sign in _SIGNS.items() if level in levels]
    return "  ".join(parts) or "-"
