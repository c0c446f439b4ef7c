"""References in float64 with running error bounds, written apart from everything they test.

A `Bounded` holds what a float32 kernel should compute and how far a correct one may be off: each
operation adds its own rounding to what its inputs bring. A sum of n products in any order is
within n * u / (1 - n * u) of the sum of their magnitudes, u = 2**-24 (Higham, "Accuracy and
Stability of Numerical Algorithms", section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

U = 2.0**-24
# Exponentials and the like are polynomials in oneDNN's kernels: a few units in the last place of
# the largest intermediate, here at most 1. This is a property of those kernels, not of the inputs.
TRANSCENDENTAL = 16 * U


@dataclass(frozen=True)
class Bounded:
    value: np.ndarray
    error: np.ndarray

    @property
    def magnitude(self) -> np.ndarray:
        """No computed value is larger."""
        return np.abs(self.value) + self.error


def exact(array: np.ndarray) -> Bounded:
    value = np.asarray(array, np.float64)
    return Bounded(value, np.zeros_like(value))


def rounded(value: np.ndarray, inherited: np.ndarray, operations: float = 1) -> Bounded:
    return Bounded(value, inherited + operations * U * (np.abs(value) + inherited))


def windows(data, taps, strides, dilation):
    """(N, C, H', W', R, S): every window of data (N, C, H, W)."""
    extent = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    view = sliding_window_view(data, extent, axis=(2, 3))
    return view[:, :, :: strides[0], :: strides[1], :: dilation[0], :: dilation[1]]


def pad(data, padding, fill=0.0):
    top, left, bottom, right = padding
    return np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)


def conv2d(
    data, weight, bias=None, strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), groups=1
):
    def plain(x, w):
        view = windows(pad(x, padding), w.shape[2:], strides, dilation)
        n, _, h, w_out, r, s = view.shape
        view = view.reshape(n, groups, -1, h, w_out, r, s)
        kernel = w.reshape(groups, -1, *w.shape[1:])
        result = np.einsum("ngihwrs,goirs->ngohw", view, kernel, optimize=True)
        return result.reshape(n, -1, h, w_out)

    return contraction(
        plain,
        data,
        weight,
        int(np.prod(weight.value.shape[1:])),
        None
        if bias is None
        else Bounded(bias.value.reshape(1, -1, 1, 1), bias.error.reshape(1, -1, 1, 1)),
    )


def dense(data, weight, bias=None):
    return contraction(lambda x, w: x @ w.T, data, weight, data.value.shape[1], bias)


def matmul(a, b):
    return contraction(np.matmul, a, b, a.value.shape[-1], None)


def contraction(plain, a, b, length, bias):
    """A sum of `length` products, whatever their order, and a bias."""
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


def multiply(a, b):
    value = a.value * b.value
    return rounded(value, a.magnitude * b.magnitude - np.abs(value))


def relu(x, slope=0.0):
    return rounded(np.where(x.value > 0, x.value, slope * x.value), x.error)


def clip(x, low, high):
    return Bounded(np.clip(x.value, low, high), x.error)


def linear(x, alpha, beta):
    return rounded(alpha * x.value + beta, abs(alpha) * x.error, 2 + abs(beta))


def smooth(function, x, slope=1.0):
    """A function whose derivative is at most `slope` and whose parts are at most 1 or |x|."""
    value = function(x.value)
    return Bounded(value, slope * x.error + TRANSCENDENTAL * (1 + np.abs(x.value)))


def tanh(x):
    return smooth(np.tanh, x)


def sigmoid(x):
    return smooth(lambda v: 1 / (1 + np.exp(-v)), x)


def swish(x, alpha=1.0):
    return smooth(lambda v: v / (1 + np.exp(-alpha * v)), x, 1.1)


def batch_norm(x, gamma, beta, mean, variance, epsilon):
    def channel(v):
        return v.value.reshape(1, -1, *[1] * (x.value.ndim - 2))

    scale = channel(gamma) / np.sqrt(channel(variance) + epsilon)
    value = (x.value - channel(mean)) * scale + channel(beta)
    largest = (x.magnitude + np.abs(channel(mean))) * np.abs(scale) + np.abs(channel(beta))
    return Bounded(value, x.error * np.abs(scale) + 8 * U * largest)


def max_pool2d(x, pool_size, strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1)):
    view = windows(pad(x.value, padding, -np.inf), pool_size, strides, dilation)
    errors = windows(pad(x.error, padding), pool_size, strides, dilation)
    return Bounded(view.max((4, 5)), errors.max((4, 5)))


def avg_pool2d(
    x, pool_size, strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), count_include_pad=False
):
    def total(v):
        return windows(pad(v, padding), pool_size, strides, dilation).sum((4, 5))

    length = pool_size[0] * pool_size[1]
    count = length if count_include_pad else total(np.ones_like(x.value))
    error = (total(x.error) + (length + 2) * U * total(x.magnitude)) / count
    return Bounded(total(x.value) / count, error)


def global_avg_pool2d(x):
    return avg_pool2d(x, x.value.shape[2:])


def softmax(x, axis=-1):
    shifted = np.exp(x.value - x.value.max(axis, keepdims=True))
    value = shifted / shifted.sum(axis, keepdims=True)
    spread = np.max(np.abs(x.value - x.value.max(axis, keepdims=True)))
    length = x.value.shape[axis]
    relative = 2 * x.error.max(initial=0) + (2 * spread + length + 4) * U + 2 * TRANSCENDENTAL
    return Bounded(value, value * relative + 2.0**-126)


def reshape(x, shape):
    return Bounded(x.value.reshape(shape), x.error.reshape(shape))


def assert_close(actual: np.ndarray, expected: Bounded) -> None:
    """Every element within its bound; says the worst one and by how much it is over."""
    assert actual.shape == expected.value.shape
    assert actual.dtype == np.float32
    error = np.abs(actual.astype(np.float64) - expected.value)
    allowed = expected.error + 2.0**-149
    over = error / allowed
    worst = np.unravel_index(np.argmax(over), over.shape)
    assert np.all(error <= allowed), (
        f"at {worst}: {actual[worst]!r} should be {expected.value[worst]!r}, "
        f"off by {error[worst]:.3g}, allowed {allowed[worst]:.3g}"
    )
