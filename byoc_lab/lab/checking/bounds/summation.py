"""Roundings of a sum of elements of one tensor, in any order.

The k roundings of a sum of different elements are independent: together they are about as large as
sqrt(k) of them. Equal elements are another case. While the partial sum stays between two powers of
two, adding the same number makes the same rounding error each time, so that m equal elements make
an error that grows with m: on average m / 2 roundings of the whole sum, since the partial sum grows
from 0. A feature map has equal elements if the activation before it is in a flat part.
"""

from __future__ import annotations

from math import prod, sqrt

import numpy as np

from byoc_lab.lab.checking.bounds.step import Array, hypot


def roundings(x: Array, axes: tuple[int, ...]) -> Array:
    """The largest number of independent roundings of the sum of magnitudes that a sum over `axes`
    makes, as an array with those axes of size 1."""
    k = prod(x.shape[axis] for axis in axes)
    return hypot(sqrt(k) + 1, largest_repetition(x, axes) / 2)


def largest_repetition(x: Array, axes: tuple[int, ...]) -> Array:
    """The number of occurrences of the most frequent element over `axes` (zeros, which add no
    error, do not count), as an array with those axes of size 1."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    if not x.size:
        return np.zeros(shape)
    with np.errstate(over="ignore"):  # elements beyond float32 are equal: infinite
        groups = x.astype(np.float32).transpose(*kept, *axes).reshape(prod(shape), -1)
    ordered = np.sort(groups, axis=-1)
    positions = np.arange(groups.shape[-1])
    begins = np.ones(ordered.shape, bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.maximum.accumulate(np.where(begins, positions, 0), axis=-1)
    lengths = np.where(ordered == 0, 0, positions - starts + 1)
    return np.asarray(lengths.max(axis=-1), np.float64).reshape(shape)
