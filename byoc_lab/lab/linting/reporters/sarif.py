"""Findings in SARIF, the format that code scanners exchange.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from byoc_lab.lab.linting.discovery import rule_names
from byoc_lab.lab.linting.finding import Finding, Severity

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_BASE = "%SRCROOT%"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(found: Sequence[Finding]) -> str:
    """One run of the tool "byoc-lab" with a result for each finding."""
    rules = {f.code: _rule(f) for f in found}
    driver = {"name": "byoc-lab", "rules": [rules[code] for code in sorted(rules)]}
    index = {code: n for n, code in enumerate(sorted(rules))}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_BASE: {"description": {"text": "the working directory"}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, index[f.code]) for f in found],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(finding: Finding) -> dict[str, Any]:
    """A rule in the format that SARIF viewers show; its page gives the reason and the remedy."""
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
    span = finding.in_text
    physical: dict[str, Any] = {}
    if span is not None:
        region = {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        }
        physical["region"] = region
    file = str(span.source_name) if span is not None else finding.file
    if file and not (file.startswith("<") and file.endswith(">")):  # <stdin> has no URI
        location["physicalLocation"] = {"artifactLocation": _artifact(file), **physical}
    return location


def _artifact(file: str) -> dict[str, str]:
    """A file by its URI, relative to the working directory if it is inside (section 3.4)."""
    here = Path.cwd()
    path = Path(os.path.normpath(here / file))
    if path.is_relative_to(here):
        return {"uri": quote(path.relative_to(here).as_posix()), "uriBaseId": _BASE}
    return {"uri": path.as_uri()}
