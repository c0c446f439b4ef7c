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
    in_text = span if span is not None and span.is_text else None
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
        "file": str(in_text.source_name) if in_text else None,
        "line": in_text.line if in_text else None,
        "column": in_text.column if in_text else None,
        "model_node": str(span) if span and not in_text else None,
        "consequences": [_entry(f) for f in finding.consequences],
    }
