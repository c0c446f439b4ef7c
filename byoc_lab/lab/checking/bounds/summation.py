"""Roundings of a sum of elements of one tensor, in any order.

The k roundings of a sum of different elements are independent: together they are about as large as
sqrt(k) roundings. Equal elements behave differently: while the partial sum stays between two powers
of two, adding the same number makes the same rounding error each time. So m equal elements make an
error proportional to m: on average m / 2 roundings of the whole sum, since the partial sum grows
from 0. A feature map has equal elements if its activation function saturates.
"""

from __future__ import annotations

from math import prod, sqrt

import numpy as np

from byoc_lab.lab.checking.bounds.step import Array, hypot


def roundings(x: Array, axes: tuple[int, ...]) -> Array:
    """The number of independent roundings, each relative to the sum of magnitudes, that bounds the
    error of a sum over `axes`; an array with these axes of size 1."""
    k = prod(x.shape[axis] for axis in axes)
    return hypot(sqrt(k) + 1, largest_repetition(x, axes) / 2)


def largest_repetition(x: Array, axes: tuple[int, ...]) -> Array:
    """The number of occurrences of the most frequent nonzero element over `axes`, as an array with
    these axes of size 1. Adding zeros makes no error."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    if not x.size:
        return np.zeros(shape)
    # elements beyond the float32 range all become infinite, so they count as equal
    with np.errstate(over="ignore"):
        groups = x.astype(np.float32).transpose(*kept, *axes).reshape(prod(shape), -1)
    ordered = np.sort(groups, axis=-1)
    positions = np.arange(groups.shape[-1])
    begins = np.ones(ordered.shape, bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.maximum.accumulate(np.where(begins, positions, 0), axis=-1)
    lengths = np.where(ordered == 0, 0, positions - starts + 1)
    return np.asarray(lengths.max(axis=-1), np.float64).reshape(shape)
