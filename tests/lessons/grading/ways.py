"""The implementations of containment, for tests; those that fail on this machine are skipped.

Quick tests use the implementation that this machine prefers, slow tests use all.
"""

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


each_container = pytest.mark.parametrize("way", [_param(name) for name in containers.KINDS])
each_way = pytest.mark.parametrize("way", [_param(name) for name in (*containers.KINDS, None)])


def counted(way: str | None) -> bool:
    """Whether the kernel counts the processes of a notebook; it does not count root's.

    Without the count, processes that keep starting processes can use up the machine's memory before
    they are found and ended, so tests do not start them.
    """
    return way == "namespaces" or os.geteuid() != 0
