"""Findings as workflow commands, which GitHub displays at the lines of a pull request.

Source: GitHub's documentation, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.lab.linting.finding import Finding, Severity

_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github(found: Sequence[Finding]) -> str:
    """One command for each finding; an empty text if there are none."""
    return "\n".join(map(_command, found))


def _command(finding: Finding) -> str:
    properties = {"title": f"{finding.code} {finding.name}"}
    text = f"{finding.message}\nfix: {finding.what_to_do}"
    span = finding.in_text
    if span is not None:
        properties |= {"file": str(span.source_name), "line": str(span.line)}
        properties |= {"col": str(span.column)}
    else:
        if finding.file:
            properties["file"] = finding.file
        places = [place for place in (finding.place, str(finding.span or "")) if place]
        text += f"\nat: {', '.join(places)}" if places else ""
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_COMMAND[finding.severity]} {listed}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
