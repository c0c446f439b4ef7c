"""The case studies: bugs that people met with BYOC, one per file, with their causes and fixes.

    from byoc_lab.lessons import cases

    cases                                     # in a notebook: a table to browse
    print(cases.table())                      # the same as text
    case = cases.get("nested-partition")
    print(case)                               # story, symptom, what lint says, fix, reference
    byoc_lab.trace(case.fixed(), ["PartitionGraph"])

Live cases are reproduced here, some under an era; dump cases are recorded texts of faults that no
version that runs here has. Cases are found by discovery, so a new case is a new file.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from byoc_lab.lessons.cases.base import Case, DumpCase, ExpectedDiagnosis, LiveCase, Symptom
from byoc_lab.lessons.discovery import discover, named
from byoc_lab.lessons.table import CaseTable

__all__ = [
    "Case", "CaseTable", "DumpCase", "ExpectedDiagnosis", "LiveCase", "Symptom", "all_cases",
    "dumps", "get", "live", "table",
]  # fmt: skip


@cache
def _by_name() -> dict[str, Case]:
    return discover(sys.modules[__name__], Case)  # type: ignore[type-abstract]


def all_cases() -> tuple[Case, ...]:
    """Every case, by name."""
    return tuple(_by_name().values())


def live() -> tuple[LiveCase, ...]:
    """The cases that are reproduced here, by name."""
    return tuple(case for case in all_cases() if isinstance(case, LiveCase))


def dumps() -> tuple[DumpCase, ...]:
    """The cases that are shown by a recorded text, by name."""
    return tuple(case for case in all_cases() if isinstance(case, DumpCase))


def get(name: str) -> Case:
    """The case of that name. Raises UnknownNameError."""
    return named(_by_name(), name, "case")


def table() -> CaseTable:
    """Every case in a table: live ones first, each with its era, cause, fix and reference."""
    return CaseTable((*live(), *dumps()))


def _repr_mimebundle_(include: Any = None, exclude: Any = None) -> dict[str, str]:
    """Jupyter's display of this module: the table."""
    return table()._repr_mimebundle_(include, exclude)
