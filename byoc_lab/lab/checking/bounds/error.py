"""`Error`: bounds for the deviation of each element of one array."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isinf, log, sqrt
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.step import Array

FAILURE = 1e-9  # probability that an element of a correct result is reported as wrong


def outlier_factor(n: int) -> float:
    """The number of standard deviations that one of n normal numbers exceeds with probability
    1e-9."""
    return sqrt(2 * log(2 * n / FAILURE))


# the largest deviation of an element, in standard deviations: about 8.7
REACH = outlier_factor(10**7)

ANYTHING = 1e38  # marks an element that may have any value


@dataclass(frozen=True)
class Error:
    """The error of one array: sigma and jump, each a number or an array of its shape, in its units.

    relative: sigma divided by the magnitude of each element, if that is one number; else 0.
    """

    sigma: Any = 0.0
    jump: Any = 0.0
    relative: float = 0.0

    @cached_property
    def exact(self) -> bool:
        return not (some(self.sigma) or some(self.jump))

    @cached_property
    def unbounded(self) -> bool:
        """Mask of the elements with an infinite jump: they may have any value."""
        jump = self.jump
        return bool(np.isinf(jump).any()) if isinstance(jump, np.ndarray) else isinf(jump)

    @property
    def reach(self) -> Any:
        """The largest deviation of an element: REACH standard deviations plus the jump."""
        return REACH * self.sigma + self.jump


EXACT = Error()


def some(part: Any) -> bool:
    """Whether a part of an error is nonzero; elementwise for an array."""
    return bool(part.any() if isinstance(part, np.ndarray) else part)


def full(part: Any, like: Array) -> Array:
    """A part of an error, broadcast to the shape of its array."""
    if isinstance(part, np.ndarray) and part.shape == like.shape and part.dtype == np.float64:
        return part
    found: Array = np.broadcast_to(np.asarray(part, np.float64), like.shape)
    return found
