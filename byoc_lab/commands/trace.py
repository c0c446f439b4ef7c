"""run a pipeline on a network and show every stage; or show a saved trace or recording"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byoc_lab.commands.shared import (
    NO,
    OK,
    PIPELINE,
    configure_format,
    configure_model,
    recorded_trace,
)
from byoc_lab.lab.linting.reporters.json_report import finding_data
from byoc_lab.output import to_json
from byoc_lab.terminal import ProgressLine

if TYPE_CHECKING:
    from byoc_lab.lab.tracing import Stage, Trace


def configure(parser: argparse.ArgumentParser) -> None:
    configure_model(parser)
    parser.add_argument("--pipeline", help=PIPELINE)
    configure_format(parser)
    parser.add_argument("--html", type=Path, help="write the trace as one HTML file")


def run(options: argparse.Namespace) -> int:
    """Exit code 1 if there are errors (a failed pass, or a finding of severity "error" in the
    result of a stage), else 0."""
    with ProgressLine() as progress:
        recorded = recorded_trace(options.model, options.pipeline, options, progress)
        for n, stage in enumerate(recorded, 1):
            progress(f"examining the result of {stage.name}", n, len(recorded))
            _ = stage.findings_after
        progress("writing")
        shown = to_json("trace", _data(recorded)) if options.format == "json" else str(recorded)
        page = recorded.save_html(options.html) if options.html else None
    print(shown)
    if page is not None and options.format == "text":
        print(f"written: {page}")
    return NO if _has_errors(recorded) else OK


def _has_errors(recorded: Trace) -> bool:
    findings = (f for stage in recorded for f in stage.findings_after)
    return recorded.error is not None or any(str(f.severity) == "error" for f in findings)


def _data(recorded: Trace) -> dict[str, Any]:
    return {
        "title": str(recorded.title),
        "versions": recorded.versions,
        "error": _error(recorded.error),
        "stages": [_stage(stage) for stage in recorded],
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "name": stage.name,
        "group": stage.group,
        "changed": stage.changed,
        "skipped": stage.skipped,
        "seconds": stage.seconds,
        "events": len(stage.events),
        "nested": [_stage(inner) for inner in stage.nested],
        "summary": stage.diff().summary if stage.changed else "",
        "error": _error(stage.error),
        "findings": [finding_data(f) for f in stage.findings_after],
    }


def _error(error: Exception | None) -> dict[str, str] | None:
    return None if error is None else {"type": type(error).__name__, "message": str(error)}
