"""JSON to Python values, within a memory limit."""

from __future__ import annotations

import json
from typing import Any

from byoc_lab.relay.text.budget import budget, described

BYTES = {"{": 232, "[": 88, ",": 64}
"""Character -> the bytes of the object that it begins: a dictionary, a list, an entry of either."""
_DECODER = json.JSONDecoder(strict=False)


def decode_json(text: str, begin: int = 0) -> tuple[Any, int]:
    """The value that begins at `begin`, and the offset of its end.

    Raises JSONDecodeError for invalid JSON, ValueError if the values take more than `budget`.
    """
    size = len(text) - begin
    needed = sum(text.count(mark, begin) * each for mark, each in BYTES.items())
    if needed > budget(size):
        raise ValueError(
            f"its values take more than {budget(size) >> 20:,} MiB of memory, {described(size)}"
        )
    return _DECODER.raw_decode(text, begin)


def whole_json(text: str) -> Any:
    """The value of a text that contains nothing else. Raises ValueError."""
    text = text.strip()
    found, end = decode_json(text)
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return found
