"""How much of the tests runs: all, or one in N (`make slow ONE_IN=N`).

The sweeps are many cases of a kind: the tests of a file and their parameters, the examples that a
test draws, the seeds that it tries. CI runs a part of each, the same in every run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test

ONE_IN = int(os.environ.get("ONE_IN", "1"))


def some(count: int) -> int:
    """How many of so many examples or seeds a test tries: at least one."""
    return -(-count // ONE_IN)


def one_in(items: Iterable[pytest.Item], n: int = ONE_IN) -> Iterator[pytest.Item]:
    """One in n of the tests of each file, the first among them, and all tests that draw examples:
    these draw one in n of their examples."""
    seen: Counter[Path] = Counter()
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            yield item
            continue
        if seen[item.path] % n == 0:
            yield item
        seen[item.path] += 1
