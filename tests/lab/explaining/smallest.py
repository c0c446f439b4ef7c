"""Finds the smallest case of a false statement: Hypothesis draws it, `byoc_lab.reduce` reduces
it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from hypothesis import Phase, settings

import byoc_lab
from byoc_lab.relay import IRModule
from tests.lab.explaining.random_tables import Drawn

BUDGET = 200
"""Maximum number of cases that are examined for one failure."""
FALSE = (AssertionError, pytest.fail.Exception)
DRAWS = settings(phases=[phase for phase in Phase if phase is not Phase.shrink])
"""For seeds, because a smaller seed does not draw a smaller case."""
R = TypeVar("R")


def examine(case: Drawn, examined: Callable[[Drawn], R]) -> R:
    """The result of `examined(case)`.

    If it finds a false statement, the test fails with the smallest module and table for which it
    does, and with a script of both.
    """
    try:
        return examined(case)
    except FALSE as error:
        said = str(error)

    def is_false(mod: IRModule, table: Sequence[tuple[Any, ...]]) -> bool:
        try:
            examined(replace(case, mod=mod, table=_as_triples(table)))
        except FALSE:
            return True
        return False

    table = [entry if entry[2] is not None else entry[:2] for entry in case.table]
    found = byoc_lab.reduce(case.mod, is_false, table=table, budget=BUDGET)
    small = replace(case, mod=found.module, table=_as_triples(found.table or ()))
    raise AssertionError(f"{said}\n\nsmallest: {small.said(found)}\n\n{found.script()}")


def _as_triples(table: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The entries as triples, with None for a missing check."""
    return [(*entry, None)[:3] for entry in table]
