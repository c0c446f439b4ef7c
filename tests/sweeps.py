"""How much of the tests runs: all, or one in N of their cases (`make slow ONE_IN=N`).

The sweeps are many cases of a kind: the parameters of a test, the examples that it draws, the seeds
that it tries. CI runs a part of each, always the same one, and `make slow` all.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import is_hypothesis_test

ONE_IN = int(os.environ.get("ONE_IN", "1"))


def some(count: int) -> int:
    """How many of so many examples or seeds a test tries: at least one."""
    return -(-count // ONE_IN)


def one_in(items: Iterable[pytest.Item], n: int = ONE_IN) -> Iterator[pytest.Item]:
    """The first of the tests that differ in their parameters alone, and each n-th after it.

    All of those that draw examples: each draws one in n.
    """
    seen: Counter[str] = Counter()
    for item in items:
        name = item.nodeid.split("[")[0]
        if seen[name] % n == 0 or is_hypothesis_test(getattr(item, "obj", None)):
            yield item
        seen[name] += 1
