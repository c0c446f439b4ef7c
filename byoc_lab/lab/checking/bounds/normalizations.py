"""Errors of normalizations and variances: rounding errors, and propagated errors of the arguments.

For each group of k elements with mean m and standard deviation s (with epsilon), a normalization
    computes n = (x - m) / s, then gamma * n + beta. To first order dn_i = (dx_i - mean(dx) - n_i *
    mean(n * dx)) / s, and |n_i| < sqrt(k) for every x.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.error import Error, full
from byoc_lab.lab.checking.bounds.products import along_axis
from byoc_lab.lab.checking.bounds.step import Array, Step, hypot
from byoc_lab.lab.checking.bounds.summation import roundings
from byoc_lab.relay.op.nn.norm import groups_of


class _Groups:
    """The data of a normalization and the axes that it normalizes over."""

    def __init__(self, step: Step):
        self.x, self.axes = groups_of(step.op.name, step.attrs, step.args[0])
        self.shape = self.x.shape
        self.centred = self.x - self.mean(self.x)
        self.s = np.sqrt(self.mean(np.square(self.centred)) + step.attrs.epsilon)
        self.n = self.centred / self.s
        self.k = int(np.prod([self.shape[n] for n in self.axes]))

    def mean(self, array: Array) -> Array:
        return np.asarray(np.mean(array, axis=self.axes, keepdims=True))


def normalization_rounding(step: Step) -> Array:
    """In units of u / sqrt(3). Also holds for kernels that compute s from mean(x ** 2) - m ** 2, as
    TVM's code for the host does: the squares of large numbers cancel there."""
    g = _Groups(step)
    gamma = along_axis(step, step.args[1])
    of_sum = roundings(g.x, g.axes)
    of_mean = of_sum * g.mean(np.abs(g.x)) + np.abs(g.centred)
    of_s = (of_sum + 3) * g.mean(np.square(g.x)) / (2 * np.square(g.s)) + 4
    made = (of_mean / g.s + np.abs(g.n) * of_s).reshape(step.value.shape)
    scaled = np.abs(gamma) * made if step.attrs.scale else made
    return np.asarray(scaled + np.abs(step.value))


def normalization(step: Step, errors: list[Any]) -> list[Error]:
    """Propagate the errors of the arguments of a normalization to its results."""
    x, gamma = step.args[0], along_axis(step, step.args[1])
    g = _Groups(step)
    d = np.square(full(errors[0].sigma, x)).reshape(g.shape)
    sigma = np.sqrt(d + (g.mean(d) + np.square(g.n) * g.mean(np.square(g.n) * d)) / g.k) / g.s
    j = full(errors[0].jump, x).reshape(g.shape)
    # A jump may be large: s changes by at most r, plus `of_s` to second order.
    r = np.sqrt(g.mean(np.square(j)))
    of_s = np.minimum(r, g.mean(np.abs(g.n) * j) + np.square(r) / g.s)
    smallest = np.maximum(g.s - of_s, sqrt(step.attrs.epsilon))
    jump = (j + g.mean(j) + np.abs(g.n) * of_s) / smallest
    largest = 2 * sqrt(g.k)
    scale = np.abs(gamma) if step.attrs.scale else np.ones(())
    sigmas = [scale * np.minimum(sigma, largest).reshape(x.shape)]
    # An unbounded error stays unbounded: one machine may have nan and another a number.
    limited = np.where(np.isfinite(jump), np.minimum(jump, largest), np.inf)
    jumps = [scale * limited.reshape(x.shape)]
    size = np.abs(g.n).reshape(x.shape)
    for used, n, factor in ((step.attrs.scale, 1, size), (step.attrs.center, 2, np.ones(()))):
        if used:
            vector, error = step.args[n], errors[n]
            sigmas.append(factor * along_axis(step, full(error.sigma, vector)))
            jumps.append(factor * along_axis(step, full(error.jump, vector)))
    return [Error(np.sqrt(sum(np.square(part) for part in sigmas)), sum(jumps))]


def variance_rounding(step: Step) -> Array:
    """In units of u / sqrt(3): roundings of the differences from the mean, of their squares, and of
    the sum."""
    x, m = step.args
    centred = np.abs(x - m)
    own = np.sqrt(centred * (np.abs(x) + np.abs(m)))
    return np.asarray(
        (sqrt(step.reduced) + 4) * np.abs(step.value) + 2 * step.again(own, np.zeros_like(m))
    )


def variance(step: Step, errors: list[Any]) -> list[Error]:
    """mean((x - m) ** 2), where m is the mean of x; its error is 2 * mean((x - m) * dx) + mean(dx
    ** 2)."""
    x, m = step.args
    zero, centred = np.zeros_like(m), np.abs(x - m)

    def mean_square(array: Array) -> Array:
        return np.asarray(np.abs(step.again(np.broadcast_to(array, x.shape), zero)))

    d, j = full(errors[0].sigma, x), full(errors[0].jump, x)
    sigma = hypot(2 * np.sqrt(mean_square(centred * d) / step.reduced), mean_square(d))
    jump = 2 * mean_square(np.sqrt(centred * j)) + mean_square(j)
    return [Error(sigma, jump + mean_square(full(errors[1].reach, m)))]
