"""Recordings of passes of a real TVM; `path(name)` is the path of a recording in this folder."""

from __future__ import annotations

from pathlib import Path

from byoc_lab.errors import UnknownNameError, nearest


def names() -> list[str]:
    """The names of the recordings."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.jsonl"))


def path(name: str) -> Path:
    """The file of a recording, for `byoc_lab.load_trace`. Raises UnknownNameError."""
    if name not in names():
        raise UnknownNameError(f"no recording is named {name!r}; {nearest(name, names())}")
    return Path(__file__).parent / f"{name}.jsonl"
