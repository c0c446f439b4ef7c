"""Pairs the stages of two traces by the names of their passes."""

from __future__ import annotations

from collections.abc import Sequence

Aligned = tuple[int | None, int | None]
"""The positions of a pass in both pipelines; None for a pipeline without the pass."""


def aligned(first: Sequence[str], second: Sequence[str]) -> list[Aligned]:
    """Pairs the positions of equal names in a longest common subsequence; the other names are
    listed between these pairs, with None.

    Each position is in one pair, and both sides keep their order. Swapping the arguments swaps the
    two positions of each pair. If there are several longest subsequences, the first in alphabetical
    order is taken, with each name at its first position.
    """
    pairs: list[Aligned] = []
    i = j = 0
    for name in _common(first, second):
        n, m = first.index(name, i), second.index(name, j)
        pairs += [*_between(first, second, (i, n), (j, m)), (n, m)]
        i, j = n + 1, m + 1
    return [*pairs, *_between(first, second, (i, len(first)), (j, len(second)))]


def _common(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """The longest common subsequence."""
    # longest[i][j]: the length of the longest common subsequence of first[i:] and second[j:]
    longest = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in reversed(range(len(first))):
        for j in reversed(range(len(second))):
            longest[i][j] = (
                longest[i + 1][j + 1] + 1
                if first[i] == second[j]
                else max(longest[i + 1][j], longest[i][j + 1])
            )
    found: list[str] = []
    i = j = 0
    names = sorted(set(first) & set(second))
    while left := longest[i][j]:
        for name in names:
            if name not in first[i:] or name not in second[j:]:
                continue
            n, m = first.index(name, i), second.index(name, j)
            if longest[n][m] == left:
                found.append(name)
                i, j = n + 1, m + 1
                break
    return found


def _between(
    first: Sequence[str],
    second: Sequence[str],
    of_first: tuple[int, int],
    of_second: tuple[int, int],
) -> list[Aligned]:
    """Positions without a partner, between two pairs, in alphabetical order of their names."""
    alone: list[tuple[int, str, Aligned]] = []
    alone += [(n - of_first[0], first[n], (n, None)) for n in range(*of_first)]
    alone += [(m - of_second[0], second[m], (None, m)) for m in range(*of_second)]
    return [pair for _, _, pair in sorted(alone, key=lambda found: found[:2])]
