"""Guesses for the unknown sizes of an input, as suggestions in error messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BATCH, CHANNELS, IMAGE, SEQUENCE = 1, 3, 224, 16


def guessed_sizes(sizes: Sequence[Any]) -> tuple[int, ...]:
    """`sizes`, with a guess for each size that is not an int: 1 for a batch; 3 channels and 224
    pixels if there are four axes; else 16."""
    last = len(sizes) == 4 and isinstance(sizes[3], int) and sizes[3] <= 4  # NHWC

    def guess(axis: int) -> int:
        if axis == 0:
            return BATCH
        if len(sizes) != 4:
            return SEQUENCE
        return CHANNELS if axis == (3 if last else 1) else IMAGE

    return tuple(n if isinstance(n, int) else guess(axis) for axis, n in enumerate(sizes))
