"""Errors of results, from the derivatives of operators: products, sums, linear functions, softmax,
argmax.

A sum of products has squared errors that are again a sum of products, of the squares.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.error import REACH, Error, full, some
from byoc_lab.lab.checking.bounds.intervals import distance, interval
from byoc_lab.lab.checking.bounds.products import along_axis
from byoc_lab.lab.checking.bounds.step import Array, Step, hypot
from byoc_lab.relay.op.framework.arithmetic import Arithmetic


def bilinear(step: Step, errors: list[Any]) -> list[Error]:
    """Sums of products of the first two arguments."""
    (x, w), (ex, ew) = (
        step.args[:2],
        [_in_range(v, e) for v, e in zip(step.args[:2], errors[:2], strict=True)],
    )
    rest = list(step.args[2:])
    if step.arithmetic is Arithmetic.INTEGER_PRODUCT:
        x, w = _centred(x, rest[0]), _centred(w, rest[1])
        rest = [np.zeros_like(r) if n < 2 else r for n, r in enumerate(rest)]
    x, w = np.abs(x.astype(np.float64)), np.abs(w.astype(np.float64))
    plain = not rest
    total: Any = 0.0
    if some(ex.sigma):
        total = _products(step, np.square(full(ex.sigma, x)), np.square(w), rest)
    if ew.relative and plain:
        total = total + ew.relative**2 * step.squares
    elif some(ew.sigma):
        total = total + _products(step, np.square(x), np.square(full(ew.sigma, w)), rest)
    # Discontinuities of neighbours may agree (ties rounded in one direction), so they add linearly.
    jump: Any = 0.0
    dx, dw = full(ex.jump, x), full(ew.jump, w)
    if some(dx):
        jump = np.asarray(step.again(dx, w + dw + REACH * full(ew.sigma, w), *rest), np.float64)
    if some(dw):
        jump = jump + np.asarray(step.again(x, dw, *rest), np.float64)
    return [Error(np.sqrt(np.abs(total)), np.abs(jump))]


def _products(step: Step, x: Array, w: Array, rest: list[Any]) -> Array:
    """Sums of products of absolute values; in integers for operators with zero points."""
    return np.asarray(step.positive(x, w) if not rest else step.again(x, w, *rest), np.float64)


def of_sum(step: Step, errors: list[Any]) -> list[Error]:
    """The sum or the difference of two arguments."""
    a, b = errors
    vector = along_axis(step, full(b.sigma, step.args[1]))
    jump = a.jump + along_axis(step, full(b.jump, step.args[1])) if some(b.jump) else a.jump
    return [Error(full(hypot(a.sigma, vector), step.value), full(jump, step.value))]


def of_product(step: Step, errors: list[Any]) -> list[Error]:
    (x, y), (ex, ey) = step.args, errors
    x, y = np.abs(x), np.abs(y)
    sigma = hypot(x * ey.sigma, y * ex.sigma)
    jump: Any = 0.0
    if some(ex.jump) or some(ey.jump):
        far, wide = x + REACH * ex.sigma, y + REACH * ey.sigma
        jump = far * ey.jump + wide * ex.jump + ex.jump * ey.jump
    if not np.isinf(step.value).any():
        return [Error(sigma, jump)]
    # Infinity times a nonzero number is infinite, whatever the errors of both are.
    infinite = [np.isinf(v) & ~np.isinf(e.jump) for v, e in ((x, ex), (y, ey))]
    sure = (infinite[0] & (y > ey.reach)) | (infinite[1] & (x > ex.reach))
    return [Error(np.where(sure, 0.0, sigma), np.where(sure, 0.0, jump))]


def relu(step: Step, errors: list[Any]) -> list[Error]:
    (x,), (error,) = step.args, errors
    if error.unbounded:
        return interval(step, errors)
    sigma, jump = (np.clip(x + r, 0, r) for r in (REACH * error.sigma, error.jump))
    return [Error(sigma / REACH, jump)]


def batch_norm(step: Step, errors: list[Any]) -> list[Error]:
    """Batch norm in inference: a linear function of its data."""
    if any(some(e.jump) for e in errors[1:]):
        return interval(step, errors)
    x, error = step.args[0], errors[0]
    gamma, _, mean, variance = (along_axis(step, v) for v in step.args[1:])
    dgamma, dbeta, dmean, dvariance = (
        along_axis(step, full(e.sigma, v)) for e, v in zip(errors[1:], step.args[1:], strict=True)
    )
    if not step.attrs.scale:
        gamma, dgamma = np.ones_like(gamma), np.zeros_like(dgamma)
    if not step.attrs.center:
        dbeta = np.zeros_like(dbeta)
    s = np.sqrt(variance + step.attrs.epsilon)
    scale = np.abs(gamma) / s
    slope = np.square(dgamma / s) + np.square(scale * dvariance / (2 * np.square(s)))
    sigma = np.square(x - mean)
    sigma *= slope
    sigma += np.square(scale * error.sigma) + np.square(dbeta) + np.square(scale * dmean)
    rest = [Error(e.sigma, e.jump) for e in errors[3:]]
    return [Error(np.sqrt(sigma), scale * error.jump), *rest]


def _in_range(value: Array, error: Error) -> Error:
    """An integer with an unbounded error is still in the range of its dtype."""
    if value.dtype.kind not in "iu":
        return error
    info = np.iinfo(value.dtype)
    return Error(error.sigma, np.minimum(error.jump, float(info.max) - float(info.min)))


def _centred(x: Array, zero_point: Array) -> Array:
    return np.asarray(x.astype(np.float64) - np.asarray(zero_point, np.float64).reshape(-1)[0])


def of_mean(step: Step, errors: list[Any]) -> list[Error]:
    """Sums and means. Jumps add linearly, since the jumps of neighbours may have the same sign."""
    x, error = step.args[0], errors[0]
    window = step.attrs.get("pool_size") if step.attrs is not None else None
    k = prod(window) if window else x.size // max(1, step.value.size)
    squares = np.square(full(error.sigma, x))
    jump = np.abs(step.of(full(error.jump, x))) if some(error.jump) else 0.0
    is_sum = step.arithmetic is Arithmetic.SUM
    times = k if is_sum else 1 / k
    mean = step.of(squares) / (k if is_sum else 1)
    return [Error(np.sqrt(np.abs(mean) * times), jump)]


def softmax(step: Step, errors: list[Any]) -> list[Error]:
    """ds_i = s_i * (dx_i - sum of s_j * dx_j). Jumps are evaluated at the ends of the intervals:
    s_i is largest if x_i rises and all other elements fall."""
    (x,), (error,) = step.args, errors
    axis, s = step.attrs.axis, step.value
    logarithm = step.arithmetic is Arithmetic.LOG_SOFTMAX
    share = np.exp(s) if logarithm else s

    def total(array: Array) -> Array:
        return np.asarray(np.sum(array, axis=axis, keepdims=True))

    d = full(error.sigma, x)
    sigma = np.sqrt(np.square(d) + total(np.square(share * d)))
    if not logarithm:
        sigma = np.minimum(s * np.expm1(np.minimum(sigma, 700)), 1.0)
    j = full(error.jump, x)
    if not some(j):
        return [Error(sigma)]
    free = np.any(np.isinf(j), axis=axis, keepdims=True)
    j = np.minimum(j, 300)
    moved: Any = 0.0
    for sign in (1, -1):
        mine, others = share * np.exp(sign * j), share * np.exp(-sign * j)
        rest = np.maximum(total(others) - others, 0.0) + mine
        if logarithm:
            moved = np.maximum(moved, np.abs(sign * j - np.log(rest)))
        else:
            moved = np.maximum(moved, np.abs(mine / rest - share))
    return [Error(sigma, np.where(free, np.inf, moved))]


def of_arg(step: Step, errors: list[Any]) -> list[Error]:
    """argmax and argmin: the largest distance from the result to an index that may be the true
    one."""
    (x,), (error,) = step.args, errors
    reach = full(error.reach, x)
    up, down = step.again(x + reach), step.again(x - reach)
    value = np.asarray(step.value, np.float64)
    moved = np.maximum(distance(up, step.value), distance(down, step.value))
    axes = step.attrs.get("axis")
    sign = 1 if step.arithmetic is Arithmetic.ARGMAX else -1
    if axes is None or len(axes) != 1 or step.attrs.get("exclude"):
        best = np.max(sign * x - reach)
        rivals = np.count_nonzero(sign * x + reach >= best)
        return [Error(0.0, np.where(rivals > 1, float(x.size), moved))]
    axis = int(axes[0]) % x.ndim
    best = np.max(sign * x - reach, axis=axis, keepdims=True)
    rival = sign * x + reach >= best
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    places = np.arange(x.shape[axis]).reshape(shape)
    kept = value if step.attrs.get("keepdims") else np.expand_dims(value, axis)
    far = np.max(np.where(rival, np.abs(places - kept), 0), axis=axis, keepdims=True)
    return [Error(0.0, far.reshape(value.shape).astype(np.float64))]
