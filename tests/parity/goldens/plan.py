"""The list of all golden files: case, steps before the pass, and the pass.

Files are named `<pass>/<case><suffix>.relay` and `print/...`; `files.py` defines their folders.
"""

from __future__ import annotations

from typing import Any

from . import byoc, rewrites
from .entry import Golden

__all__ = ["Golden", "longest_runs", "plan"]


def plan() -> list[Golden]:
    """Every golden file, in a fixed order.

    Raises ValueError if two would have the same path.
    """
    groups = (*rewrites.GROUPS, *byoc.GROUPS)
    entries = [entry for group in groups for entry in group()]
    paths = [entry.path for entry in entries]
    if doubles := {path for path in paths if paths.count(path) > 1}:
        raise ValueError(f"golden files with the same path: {sorted(doubles)}")
    return entries


def longest_runs(entries: list[Golden]) -> list[tuple[str, list[Any]]]:
    """Runs (case, steps) that contain every entry's steps as a prefix: no step runs twice."""
    runs: list[tuple[str, list[Any]]] = []
    for entry in sorted(entries, key=lambda entry: -len(entry.steps)):
        if not any(
            case == entry.case and steps[: len(entry.steps)] == entry.steps for case, steps in runs
        ):
            runs.append((entry.case, entry.steps))
    return runs
