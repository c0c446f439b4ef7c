"""Recursive rules without a stack, for the parser, the printer and evaluators.

A rule is a generator. Instead of calling itself, the rule yields the rule it needs and
receives the result; `run` keeps the waiting rules in a list, so depth is bounded by memory alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

RecursiveRule = Generator["RecursiveRule", Any, Any]


def run(
    rule: RecursiveRule, max_waiting: int | None = None, too_many: Callable[[], Any] | None = None
) -> Any:
    """The result of a rule. `too_many`, which must raise an error, is called when `max_waiting`
    rules wait."""
    waiting, result = [rule], None
    while waiting:
        try:
            waiting.append(waiting[-1].send(result))
            result = None
            if too_many is not None and len(waiting) == max_waiting:
                too_many()
        except StopIteration as finished:
            waiting.pop()
            result = finished.value
    return result
