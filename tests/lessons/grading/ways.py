"""The ways in which notebooks are contained, for tests; those that fail here are skipped.

The quick tests run in the way that this machine takes, the slow ones in all."""

from __future__ import annotations

import os
from functools import cache

import pytest

from byoc_lab.containment import containers

failure = cache(containers.failure)
BEST = containers.way() if containers.possible() else None
"""The way in which this machine contains notebooks; None for none."""


def _param(name: str | None) -> object:
    reason = "" if name is None else failure(name)
    marks = [pytest.mark.skip(reason=f"no containers by {name}: {reason}")] if reason else []
    if name != BEST:
        marks.append(pytest.mark.slow)
    return pytest.param(name, marks=marks, id=name or "trusted")


each_container = pytest.mark.parametrize("way", [_param(name) for name in containers.WAYS])
each_way = pytest.mark.parametrize("way", [_param(name) for name in (*containers.WAYS, None)])


def counted(way: str | None) -> bool:
    """Whether the kernel counts the processes of a notebook: it does not count those of root.

    Where it does not, processes that start processes for ever can use up the memory of the machine
    before they are found and ended, so that no test starts them."""
    return way == "namespaces" or os.geteuid() != 0
