"""Validates the statistics that a back end reports: malformed ones are reported and not used."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

COUNTS = ("calls", "threads")
TEXTS = ("name", "impl")
LISTS = ("post_ops_fused", "post_ops_separate")
NUMBERS = ("time_us", "reorders", "bytes")


class ReportedStats(NamedTuple):
    """stats: as `CompiledRegion.stats` describes them; {} if they are invalid, with the reason in
    `fault`."""

    stats: dict[str, Any]
    fault: str = ""


def reported_stats(region: Any) -> ReportedStats:
    """The statistics that a compiled region reports, validated."""
    try:
        found = region.stats()
    except Exception as error:  # the back end's code may raise anything
        return ReportedStats({}, f"its statistics cannot be read: {type(error).__name__}: {error}")
    fault = _fault(found)
    if fault:
        return ReportedStats({}, f"its statistics are invalid: {fault}")
    return ReportedStats(found)


def _fault(found: Any) -> str:
    """The fault in statistics; "" if they are valid."""
    if not isinstance(found, dict):
        return f"expected a dict, found {found!r:.80}"
    for key in COUNTS:
        value = found.get(key)
        if value is not None and not (_is_number(value) and value == int(value)):
            return f"{key}: expected a number from 0, found {value!r:.80}"
    ops = found.get("ops", ())
    if not isinstance(ops, (list, tuple)):
        return f"ops: expected a list, found {ops!r:.80}"
    return next((f"ops[{n}]: {text}" for n, op in enumerate(ops) if (text := _op_fault(op))), "")


def _op_fault(op: Any) -> str:
    if not isinstance(op, dict) or not isinstance(op.get("name"), str):
        return f'expected a dict with a "name", found {op!r:.80}'
    for key, value in op.items():
        if value is None and key not in LISTS:
            continue
        if key in TEXTS and not isinstance(value, str):
            return f"{key}: expected a text, found {value!r:.80}"
        if key in NUMBERS and not _is_number(value):
            return f"{key}: expected a number from 0, found {value!r:.80}"
        if key in LISTS and not _is_texts(value):
            return f"{key}: expected a list of texts, found {value!r:.80}"
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and isfinite(value) and value >= 0


def _is_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(text, str) for text in value)
