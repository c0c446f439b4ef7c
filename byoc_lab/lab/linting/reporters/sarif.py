"""Findings in SARIF, the format that code scanners exchange.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

from byoc_lab.lab.linting.discovery import rule_names
from byoc_lab.lab.linting.finding import Finding, Severity

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(found: Sequence[Finding]) -> str:
    """One run of the tool "byoc-lab" with a result for each finding."""
    rules = {f.code: _rule(f) for f in found}
    driver = {"name": "byoc-lab", "rules": [rules[code] for code in sorted(rules)]}
    index = {code: n for n, code in enumerate(sorted(rules))}
    run = {"tool": {"driver": driver}, "results": [_result(f, index[f.code]) for f in found]}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(finding: Finding) -> dict[str, Any]:
    """A rule as the viewers of SARIF show it; its page says why and what to do."""
    made: dict[str, Any] = {"id": finding.code, "name": finding.name}
    rule = rule_names().get(finding.code)
    if rule is not None:
        first = inspect.cleandoc(rule.__doc__ or "").partition("\n\n")[0]
        made["shortDescription"] = {"text": " ".join(first.split())}
        made["help"] = {"text": f"byoc-lab rule {finding.code}"}
    return made


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVEL[finding.severity],
        "message": {"text": f"{finding.message}. Fix: {finding.what_to_do}"},
        "locations": [_location(finding)],
    }


def _location(finding: Finding) -> dict[str, Any]:
    logical = {"name": finding.function or "module", "kind": "function"}
    location: dict[str, Any] = {"logicalLocations": [logical]}
    span = finding.span
    if span is not None and span.is_text:
        region = {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        }
        uri = str(span.source_name).replace("\\", "/")
        location["physicalLocation"] = {"artifactLocation": {"uri": uri}, "region": region}
    return location
