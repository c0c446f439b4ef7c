"""NumPy functions that the references of several families share."""

from __future__ import annotations

import numpy as np


def broadcast_along(vector: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """A vector reshaped to `rank` dimensions, so that it broadcasts along `axis`."""
    return vector.reshape(-1, *[1] * (rank - 1 - axis % rank))


def round_half_away(x: np.ndarray) -> np.ndarray:
    """Nearest integer, halves away from zero, as C's round()."""
    whole = np.trunc(x)
    return whole + np.sign(x) * (np.abs(x - whole) >= 0.5)
