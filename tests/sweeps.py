"""The part of the tests that runs: all, or one in N (`make slow ONE_IN=N`).

The sweeps try many cases: parameters of tests, drawn examples, and seeds. CI runs a part of each,
the same in every run. `make slow` without ONE_IN also runs the property tests, with all their
examples; the other commands draw a third.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test

ONE_IN = int(os.environ.get("ONE_IN", "1"))
SHARE = 1 if os.environ.get("ALL_EXAMPLES") else 3


def some(count: int) -> int:
    """The number of examples or seeds to try, out of `count`: at least one."""
    return -(-count // (ONE_IN * SHARE))


def one_in(items: Iterable[pytest.Item], n: int = ONE_IN) -> Iterator[pytest.Item]:
    """One in n of the tests of each file, beginning with the first, and every test that draws
    examples, which draws one in n of them."""
    seen: Counter[Path] = Counter()
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            yield item
            continue
        if seen[item.path] % n == 0:
            yield item
        seen[item.path] += 1
