"""Findings as JSON, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.lab.linting.finding import Finding
from byoc_lab.output import to_json
from byoc_lab.relay.ir.expr import describe


def json_report(found: Sequence[Finding]) -> str:
    """The findings as a list; each has its consequences as a list."""
    return to_json("findings", {"findings": [finding_data(f) for f in found]}, indent=2)


def finding_data(finding: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    span = finding.span
    in_text = finding.in_text
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
        "file": str(in_text.source_name) if in_text else finding.file or None,
        "line": in_text.line if in_text else None,
        "column": in_text.column if in_text else None,
        "model_node": str(span) if span and not in_text else None,
        "consequences": [finding_data(f) for f in finding.consequences],
    }
