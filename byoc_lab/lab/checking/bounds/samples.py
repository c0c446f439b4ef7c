"""Errors estimated from samples with random errors, to check the derived errors and enlarge them if
needed."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from byoc_lab.lab.checking.bounds.error import Error, full, some
from byoc_lab.lab.checking.bounds.step import Array, hypot, largest_difference


def largest_errors(results: Sequence[Array], samples: Sequence[tuple[Array, ...]]) -> list[Error]:
    """The largest errors in the samples, the same for all elements."""
    found = []
    for k, v in enumerate(results):
        off = max((largest_difference(s[k], v) for s in samples), default=0.0)
        found.append(Error(off) if v.dtype.kind == "f" else Error(0.0, off))
    return found


def joined(value: Array, own: Error, inherited: Error) -> Error:
    if own.exact:
        return inherited
    if inherited.exact:
        return own
    return Error(hypot(own.sigma, inherited.sigma), own.jump + inherited.jump)


def calibrated(value: Array, error: Error, samples: Sequence[Array]) -> Error:
    """`error`, scaled up if needed to match the root mean square of the deviations of `samples`."""
    if not samples or value.dtype.kind != "f" or not value.size:
        return error
    sigma = full(error.sigma, value)
    squares = mean_squares(value, error, samples)
    ratios = variance_ratios(squares, sigma)
    if not (sigma > 0).all():  # a deviation although the derived error is zero
        sigma = np.where(sigma > 0, sigma, np.sqrt(squares))
    scale = sqrt(float(ratios.sum()) / ratios.size) if ratios.size else 1.0
    return Error(sigma * scale if scale > 1 else sigma, error.jump)


def variance_ratios(squares: Array, sigma: Array) -> Array:
    """Mean squares of samples divided by the derived variance, for elements with a finite variance
    above 0."""
    with np.errstate(all="ignore"):
        variance = np.square(sigma)
        known = (variance > 0) & np.isfinite(variance)
        ratios: Array = squares / variance if known.all() else squares[known] / variance[known]
    return ratios


def mean_squares(value: Array, error: Error, samples: Sequence[Array]) -> Array:
    """The mean squares of the deviations of samples from `value`, minus the jumps that `error`
    allows."""
    total = np.zeros(value.shape)
    jumps = some(error.jump)
    with np.errstate(all="ignore"):
        for sample in samples:
            off = sample - value
            if jumps:
                off = np.maximum(np.abs(off) - error.jump, 0.0)
            total += off * off
        if not np.isfinite(total.sum()):
            total[~np.isfinite(total)] = 0.0
    total /= len(samples)
    return total
