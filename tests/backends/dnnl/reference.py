"""References in float64 with running error bounds, independent of the code under test.

A `Bounded` holds the value that a float32 kernel should compute and the error of a correct one:
each operation adds its own rounding to the errors of its inputs. A sum of n products in any order
is within n * u / (1 - n * u) of the sum of their magnitudes, u = 2**-24 (Higham, "Accuracy and
Stability of Numerical Algorithms", section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

U = 2.0**-24
# oneDNN's kernels compute exponentials and similar functions as polynomials: an error of a few
# units in the last place of the largest intermediate, which is at most 1 here. This is a property
# of the kernels, not of the inputs.
TRANSCENDENTAL = 16 * U
LOG = 116 * U  # of 1 + |log(x)|: its table is coarse; 115 U on SSE4.1, 58 U on AVX2
BF16 = 2.0**-8  # half the distance from 1 to the next bfloat16


@dataclass(frozen=True)
class Bounded:
    value: np.ndarray
    error: np.ndarray

    @property
    def magnitude(self) -> np.ndarray:
        """An upper bound of every computed value."""
        return np.abs(self.value) + self.error


def exact(array: np.ndarray) -> Bounded:
    value = np.asarray(array, np.float64)
    return Bounded(value, np.zeros_like(value))


def rounded(value: np.ndarray, inherited: np.ndarray, operations: float = 1) -> Bounded:
    return Bounded(value, inherited + operations * U * (np.abs(value) + inherited))


def windows(data, taps, strides, dilation):
    """(N, C, H', W', R, S): every window of data (N, C, H, W); other numbers of spatial axes
    likewise."""
    axes = range(2, data.ndim)
    extent = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    view = sliding_window_view(data, extent, axis=tuple(axes))
    steps = [slice(None, None, s) for s in (*strides, *dilation)]
    return view[(slice(None), slice(None), *steps)]


def pad(data, padding, fill=0.0):
    """`padding` lists all axes before, then all axes after."""
    axes = data.ndim - 2
    sides = zip(padding[:axes], padding[axes:], strict=True)
    return np.pad(data, ((0, 0), (0, 0), *sides), constant_values=fill)


def each(value, axes):
    """Attributes have one value per axis, two by default; for other numbers of axes the first is
    repeated."""
    return value if len(value) == axes else (value[0],) * axes


def conv(data, weight, bias=None, strides=(1,), padding=(0,), dilation=(1,), groups=1):
    axes = data.value.ndim - 2
    strides, padding = each(strides, axes), each(padding, 2 * axes)
    dilation = each(dilation, axes)

    def plain(x, w):
        view = windows(pad(x, padding), w.shape[2:], strides, dilation)
        view = view.reshape(view.shape[0], groups, -1, *view.shape[2:])
        kernel = w.reshape(groups, -1, *w.shape[1:])
        out, taps = "hwd"[:axes], "rst"[:axes]
        result = np.einsum(f"ngi{out}{taps},goi{taps}->ngo{out}", view, kernel, optimize=True)
        return result.reshape(result.shape[0], -1, *result.shape[3:])

    return contraction(
        plain, data, weight, int(np.prod(weight.value.shape[1:])), channels(bias, axes)
    )


def channels(bias, axes):
    shape = (1, -1, *[1] * axes)
    return bias and Bounded(bias.value.reshape(shape), bias.error.reshape(shape))


conv2d = conv


def conv_transpose(
    data, weight, bias=None, strides=(1,), padding=(0,), dilation=(1,), groups=1,
    output_padding=(0,),
):  # fmt: skip
    """Each element of data (N, C, ...) adds weight (C, O / groups, ...) times the element."""
    axes = data.value.ndim - 2
    strides, padding = each(strides, axes), each(padding, 2 * axes)
    dilation, extra = each(dilation, axes), each(output_padding, axes)

    def plain(x, w):
        per = w.shape[0] // groups
        taps = w.shape[2:]
        full = [
            (n - 1) * s + (t - 1) * d + 1 + e
            for n, s, t, d, e in zip(x.shape[2:], strides, taps, dilation, extra, strict=True)
        ]
        result = np.zeros((x.shape[0], w.shape[1] * groups, *full))
        for g in range(groups):
            part = x[:, g * per : (g + 1) * per]
            into = result[:, g * w.shape[1] : (g + 1) * w.shape[1]]
            for tap in np.ndindex(*taps):
                at = tuple(
                    slice(t * d, t * d + (n - 1) * s + 1, s)
                    for t, d, n, s in zip(tap, dilation, x.shape[2:], strides, strict=True)
                )
                product = np.einsum(
                    "nc...,co->no...", part, w[(slice(g * per, (g + 1) * per), slice(None), *tap)]
                )
                into[(slice(None), slice(None), *at)] += product
        inside = tuple(
            slice(before, size - behind)
            for before, behind, size in zip(padding[:axes], padding[axes:], full, strict=True)
        )
        return result[(slice(None), slice(None), *inside)]

    length = int(np.prod(weight.value.shape)) // weight.value.shape[1] // groups
    return contraction(plain, data, weight, length, channels(bias, axes))


def dense(data, weight, bias=None):
    return contraction(lambda x, w: x @ w.T, data, weight, data.value.shape[1], bias)


def matmul(a, b, bias=None):
    return contraction(np.matmul, a, b, a.value.shape[-1], bias)


def contraction(plain, a, b, length, bias):
    """A sum of `length` products, in any order, plus a bias."""
    value = plain(a.value, b.value)
    total = plain(a.magnitude, b.magnitude)
    error = total - plain(np.abs(a.value), np.abs(b.value)) + (length + 1) * U * total
    if bias is None:
        return Bounded(value, error)
    return rounded(value + bias.value, error + bias.error)


def add(a, b, scale=1.0):
    return rounded(
        a.value + scale * b.value, a.error + abs(scale) * b.error + U * np.abs(scale * b.value)
    )


def subtract(a, b):
    return add(a, b, -1.0)


def divide(a, b):
    value = a.value / b.value
    return rounded(value, (a.error + np.abs(value) * b.error) / (np.abs(b.value) - b.error))


def maximum(a, b):
    return Bounded(np.maximum(a.value, b.value), np.maximum(a.error, b.error))


def minimum(a, b):
    return Bounded(np.minimum(a.value, b.value), np.maximum(a.error, b.error))


def multiply(a, b):
    value = a.value * b.value
    return rounded(value, a.magnitude * b.magnitude - np.abs(value))


def relu(x, slope=0.0):
    return rounded(np.where(x.value > 0, x.value, slope * x.value), x.error)


def batch_norm(x, gamma, beta, mean, variance, epsilon):
    def channel(v):
        return v.value.reshape(1, -1, *[1] * (x.value.ndim - 2))

    scale = channel(gamma) / np.sqrt(channel(variance) + epsilon)
    value = (x.value - channel(mean)) * scale + channel(beta)
    largest = (x.magnitude + np.abs(channel(mean))) * np.abs(scale) + np.abs(channel(beta))
    return Bounded(value, x.error * np.abs(scale) + 8 * U * largest)


def max_pool(x, pool_size, strides=(1,), padding=(0,), dilation=(1,)):
    axes = len(pool_size)
    strides, padding, dilation = (
        each(strides, axes), each(padding, 2 * axes), each(dilation, axes)
    )  # fmt: skip
    view = windows(pad(x.value, padding, -np.inf), pool_size, strides, dilation)
    errors = windows(pad(x.error, padding), pool_size, strides, dilation)
    taps = tuple(range(-axes, 0))
    return Bounded(view.max(taps), errors.max(taps))


def avg_pool(x, pool_size, strides=(1,), padding=(0,), dilation=(1,), count_include_pad=False):
    axes = len(pool_size)
    strides, padding, dilation = (
        each(strides, axes), each(padding, 2 * axes), each(dilation, axes)
    )  # fmt: skip

    def total(v):
        return windows(pad(v, padding), pool_size, strides, dilation).sum(tuple(range(-axes, 0)))

    length = int(np.prod(pool_size))
    count = length if count_include_pad else total(np.ones_like(x.value))
    error = (total(x.error) + (length + 2) * U * total(x.magnitude)) / count
    return Bounded(total(x.value) / count, error)


def global_avg_pool(x):
    return avg_pool(x, x.value.shape[2:])


def global_max_pool(x):
    return max_pool(x, x.value.shape[2:])


max_pool2d, avg_pool2d, global_avg_pool2d = max_pool, avg_pool, global_avg_pool


def layer_norm(x, gamma, beta, epsilon):
    """Means and sums over n elements: each is within n roundings of the sum of magnitudes."""
    length = x.value.shape[-1]
    mean = x.value.mean(-1, keepdims=True)
    variance = ((x.value - mean) ** 2).mean(-1, keepdims=True)
    scale = gamma.value / np.sqrt(variance + epsilon)
    value = (x.value - mean) * scale + beta.value
    spread = np.abs(x.value).max(-1, keepdims=True)
    # A relative error e of the variance changes the scale by e / 2; the mean's error is that of a
    # sum.
    relative = (2 * length + 8) * U * (1 + spread**2 / (variance + epsilon))
    error = (spread * np.abs(scale)) * relative + 8 * U * (np.abs(value) + np.abs(beta.value))
    return Bounded(value, error)


def log_softmax(x, axis=-1):
    shifted = x.value - x.value.max(axis, keepdims=True)
    value = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
    length = x.value.shape[axis]
    return Bounded(
        value, 2 * x.error.max(initial=0) + (length + 8) * U + 4 * U * np.abs(value)
        + LOG * (1 + np.log(length)) + 2 * U * np.abs(x.value).max(initial=0),
    )  # fmt: skip


def reduce(x, alg, axis):
    length = x.value.shape[axis]
    if alg in ("max", "min"):
        value = getattr(np, alg)(x.value, axis, keepdims=True)
        return Bounded(value, x.error.max(axis, keepdims=True))
    if alg == "prod":
        value = x.value.prod(axis, keepdims=True)
        return Bounded(value, (length + 1) * U * np.abs(value))
    share = length if alg == "mean" else 1
    total = x.magnitude.sum(axis, keepdims=True)
    error = x.error.sum(axis, keepdims=True) + (length + 2) * U * total
    return Bounded(x.value.sum(axis, keepdims=True) / share, error / share)


def resample(x, size, alg):
    value = x.value
    for axis, wanted in enumerate(size, start=2):
        have = value.shape[axis]
        at = (np.arange(wanted) + 0.5) * have / wanted - 0.5
        if alg == "nearest":
            value = value.take(np.clip(np.floor(at + 0.5).astype(int), 0, have - 1), axis)
            continue
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1 if n == axis else 1 for n in range(value.ndim)])
        first, second = (value.take(np.clip(low + k, 0, have - 1), axis) for k in (0, 1))
        value = first * (1 - part) + second * part
    steps = 0 if alg == "nearest" else 8 * (1 + max(x.value.shape[2:]))
    return Bounded(value, np.full_like(value, x.error.max(initial=0) + steps * U
                                       * np.abs(x.value).max(initial=0)))  # fmt: skip


def softmax(x, axis=-1):
    shifted = np.exp(x.value - x.value.max(axis, keepdims=True))
    value = shifted / shifted.sum(axis, keepdims=True)
    spread = np.max(np.abs(x.value - x.value.max(axis, keepdims=True)))
    length = x.value.shape[axis]
    relative = 2 * x.error.max(initial=0) + (2 * spread + length + 4) * U + 2 * TRANSCENDENTAL
    return Bounded(value, value * relative + 2.0**-125)


def reshape(x, shape):
    return Bounded(x.value.reshape(shape), x.error.reshape(shape))


def stored(x, dtype):
    """The value of x after storing it as float32 (exact) or bfloat16."""
    return Bounded(x.value, x.error + BF16 * x.magnitude) if dtype == "bfloat16" else x


def assert_close(actual: np.ndarray, expected: Bounded, dtype: str = "float32") -> None:
    """Asserts that every element is within its bound; the message shows the worst one.

    Two other results are accepted: an infinity if the value may be too large for the dtype, and nan
    if the bound is nan, because an infinity may come before it.
    """
    assert actual.shape == expected.value.shape
    assert actual.dtype.name == dtype
    found = actual.astype(np.float64)
    largest = float(np.finfo(np.float32).max)  # the limit of bfloat16 is smaller by less than 1 %
    overflow = np.isinf(found) & (np.sign(found) == np.sign(expected.value))
    overflow &= expected.magnitude >= 0.99 * largest
    # Below the smallest normal number, oneDNN may treat bfloat16 as 0.
    allowed = expected.error + (2.0**-126 if dtype == "bfloat16" else 2.0**-149)
    overflow |= np.isnan(found) & (allowed > largest)
    error = np.where(overflow, 0.0, np.abs(found - expected.value))
    over = error / allowed
    worst = np.unravel_index(np.argmax(over), over.shape)
    assert np.all(error <= allowed), (
        f"at {worst}: {actual[worst]!r} should be {expected.value[worst]!r}, "
        f"off by {error[worst]:.3g}, allowed {allowed[worst]:.3g}"
    )
