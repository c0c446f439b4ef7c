"""Reporters: findings as text, JSON, SARIF or GitHub annotations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from byoc_lab.errors import UnknownNameError, nearest
from byoc_lab.lab.linting.finding import Finding
from byoc_lab.lab.linting.reporters.github import github
from byoc_lab.lab.linting.reporters.json_report import json_report
from byoc_lab.lab.linting.reporters.sarif import sarif
from byoc_lab.lab.linting.reporters.text import text

REPORTERS: dict[str, Callable[[Sequence[Finding]], str]] = {
    "text": text,
    "json": json_report,
    "sarif": sarif,
    "github": github,
}


def report(found: Sequence[Finding], format: str = "text") -> str:
    """The findings in a format of REPORTERS. Raises UnknownNameError."""
    if format not in REPORTERS:
        raise UnknownNameError(
            f"no format of findings is called {format!r}; {nearest(format, REPORTERS)} The formats "
            f"are {', '.join(REPORTERS)}"
        )
    return REPORTERS[format](found)
