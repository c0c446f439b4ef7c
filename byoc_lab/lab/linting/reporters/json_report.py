"""Findings as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from byoc_lab.lab.linting.finding import Finding
from byoc_lab.relay.ir.expr import describe

VERSION = 1


def json_report(found: Sequence[Finding]) -> str:
    """An object {"version", "findings"}; each finding has its consequences as a list."""
    return json.dumps({"version": VERSION, "findings": [_entry(f) for f in found]}, indent=2)


def _entry(finding: Finding) -> dict[str, Any]:
    span = finding.span
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": str(finding.severity),
        "message": finding.message,
        "what_to_do": finding.what_to_do,
        "function": finding.function,
        "node": describe(finding.node) if finding.node is not None else None,
        "argument": finding.argument,
        "place": finding.place or None,
        "file": str(span.source_name) if span else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "consequences": [_entry(f) for f in finding.consequences],
    }
