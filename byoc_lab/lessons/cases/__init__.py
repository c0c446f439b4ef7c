"""Cases: troubles that people met with BYOC, one in a file, each reproduced and fixed.

    case = byoc_lab.lessons.cases.get("nested-partition")
    byoc_lab.lint(case.module())
    print(case.symptom(case.module()))
    byoc_lab.trace(case.fixed(), ["PartitionGraph"])

Cases are found by discovery, so a new case is a new file.
"""

from __future__ import annotations

import sys
from functools import cache

from byoc_lab.lessons.cases.base import Case, Symptom
from byoc_lab.lessons.discovery import discover, named

__all__ = ["Case", "Symptom", "all_cases", "get"]


@cache
def _by_name() -> dict[str, Case]:
    return discover(sys.modules[__name__], Case)  # type: ignore[type-abstract]


def all_cases() -> tuple[Case, ...]:
    """Every case, by name."""
    return tuple(_by_name().values())


def get(name: str) -> Case:
    """The case of that name. Raises UnknownNameError."""
    return named(_by_name(), name, "case")
