"""The longest increasing subsequence: the elements on which two orders agree."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def longest_increasing(values: Sequence[int]) -> list[int]:
    """The positions of a longest strictly increasing subsequence, in O(n log n)."""
    ends: list[int] = []  # for each length: the smallest last value of a subsequence
    last: list[int] = []  # and the position of that value
    before: list[int] = []
    for n, value in enumerate(values):
        length = bisect_left(ends, value)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [value]
        last[length : length + 1] = [n]
    found = []
    n = last[-1] if last else -1
    while n >= 0:
        found.append(n)
        n = before[n]
    return found[::-1]
