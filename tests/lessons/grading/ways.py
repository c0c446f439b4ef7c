"""The ways in which notebooks are contained, for tests; those that fail here are skipped."""

from __future__ import annotations

from functools import cache

import pytest

from byoc_lab.containment import containers

failure = cache(containers.failure)


def _param(name: str | None) -> object:
    reason = "" if name is None else failure(name)
    skip = [pytest.mark.skip(reason=f"no containers by {name}: {reason}")] if reason else []
    return pytest.param(name, marks=skip, id=name or "trusted")


each_container = pytest.mark.parametrize("way", [_param(name) for name in containers.WAYS])
each_way = pytest.mark.parametrize("way", [_param(name) for name in (*containers.WAYS, None)])


BEST = containers.way() if containers.possible() else None
"""The way in which this machine contains notebooks; None for none."""
