"""The longest increasing subsequence, compared with exhaustive search."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from byoc_lab.lab.diffing.ordering import longest_increasing


@given(values=st.lists(st.integers(0, 12), max_size=9))
def test_subsequence_is_increasing_and_the_longest(values: list[int]) -> None:
    found = longest_increasing(values)
    assert found == sorted(set(found))
    chosen = [values[n] for n in found]
    assert chosen == sorted(set(chosen))
    longest = max(
        len(c)
        for k in range(len(values) + 1)
        for c in combinations(values, k)
        if list(c) == sorted(set(c))
    )
    assert len(found) == longest
