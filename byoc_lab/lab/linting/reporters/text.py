"""Findings as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.lab.linting.finding import Finding


def text(found: Sequence[Finding]) -> str:
    """Each finding with its line, its fix and a count of its consequences."""
    return "\n".join(map(str, found)) or "clean: no findings"
