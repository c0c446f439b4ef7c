"""JSON to Python's values, within a limit of memory."""

from __future__ import annotations

import json
from typing import Any

MAX_VALUES = 10_000_000
"""Of a JSON text. Python's objects take up to 230 bytes for each; a trace of 50,000 operators has
two million."""
_DECODER = json.JSONDecoder(strict=False)


def decode_json(text: str, begin: int = 0) -> tuple[Any, int]:
    """The value that begins at `begin`, and the offset where it ends.

    Raises JSONDecodeError for other texts, ValueError for one of more than MAX_VALUES values.
    """
    if sum(text.count(mark, begin) for mark in "[{,") > MAX_VALUES:
        raise ValueError(f"it has more than {MAX_VALUES:,} values, the limit")
    return _DECODER.raw_decode(text, begin)


def whole_json(text: str) -> Any:
    """The value that a text holds and nothing else. Raises ValueError."""
    text = text.strip()
    found, end = decode_json(text)
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return found
