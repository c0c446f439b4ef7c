"""Alignment of two pipelines by the names of their passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab.lab.comparing.aligning import aligned

NAMES = st.lists(st.sampled_from("ABCD"), max_size=8)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("ABC", "ABC", [(0, 0), (1, 1), (2, 2)]),
        ("ABC", "AC", [(0, 0), (1, None), (2, 1)]),
        ("AC", "ABC", [(0, 0), (None, 1), (1, 2)]),
        ("AXC", "AYC", [(0, 0), (1, None), (None, 1), (2, 2)]),
        ("", "A", [(None, 0)]),
        ("AB", "BA", [(None, 0), (0, 1), (1, None)]),
    ],
)
def test_passes_with_equal_names_are_paired(
    first: str, second: str, expected: list[tuple[int | None, int | None]]
) -> None:
    assert aligned(first, second) == expected


@given(NAMES, NAMES)
def test_every_position_is_in_one_pair_in_order(first: list[str], second: list[str]) -> None:
    pairs = aligned(first, second)
    assert [n for n, _ in pairs if n is not None] == list(range(len(first)))
    assert [m for _, m in pairs if m is not None] == list(range(len(second)))
    assert all(first[n] == second[m] for n, m in pairs if n is not None and m is not None)


@given(NAMES, NAMES)
def test_swapping_the_pipelines_swaps_the_positions(first: list[str], second: list[str]) -> None:
    assert [(m, n) for n, m in aligned(first, second)] == aligned(second, first)


@given(NAMES, NAMES, NAMES)
def test_common_subsequence_is_paired(
    first: list[str], common: list[str], second: list[str]
) -> None:
    pairs = aligned(first + common, common + second)
    assert sum(n is not None and m is not None for n, m in pairs) >= len(common)
