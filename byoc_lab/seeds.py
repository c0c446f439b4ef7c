"""Seeds of random numbers."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import ArgumentError

MOST = 2**32 - 1
"""The largest seed of NumPy's generators."""


def checked_seed(who: str, seed: Any) -> int:
    """The seed. Raises ArgumentError if it is not an int from 0 to MOST."""
    if not isinstance(seed, int):
        raise ArgumentError(
            f"{who}: a seed must be an int, found {type(seed).__name__} {seed!r:.60}"
        )
    if not 0 <= seed <= MOST:
        raise ArgumentError(f"{who}: a seed must be from 0 to 2**32 - 1, found {seed}")
    return seed
