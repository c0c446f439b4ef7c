"""Resamples one axis of a tensor by a product with a matrix of constant weights.

Importers use it if Relay's resize operators would sample different pixels. Source: the formulas of
ONNX's operator Resize (opsets 11 to 21), which include PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import ImporterError
from byoc_lab.relay.ir.expr import Constant, Expr

Array = np.ndarray[Any, Any]

MAX_WEIGHTS = 2**26  # maximum number of elements of a matrix; a hostile file may state any size


@dataclass(frozen=True)
class Sampling:
    """The attributes of ONNX's Resize: how a pixel of the result is computed from pixels of the
    data."""

    mode: str
    coordinates: str
    nearest: str
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation: float = 0.0


def resampled(
    x: Expr,
    dtype: str,
    rank: int,
    axis: int,
    lengths: tuple[int, int],
    scale: float,
    sampling: Sampling,
    region: tuple[float, float] = (0.0, 1.0),
) -> Expr:
    """`x` resampled along `axis` from `lengths[0]` to `lengths[1]` elements.

    dtype, rank: of `x`. scale: the divisor of positions. region: first and last position for
    tf_crop_and_resize, as fractions of the length. Raises ImporterError for an unknown mode, and if
    the matrix would be too large.
    """
    length, target = lengths
    if length * target > MAX_WEIGHTS:
        raise ImporterError(
            f"resizing {length:,} elements to {target:,} takes a matrix of {length * target:,} "
            f"weights; at most {MAX_WEIGHTS:,} are supported"
        )
    at = _positions(length, target, scale, sampling.coordinates, region)
    if sampling.mode == "nearest":
        pixels = _nearest(at, sampling.nearest).clip(0, length - 1)
        x = relay.take(x, Constant(pixels), axis=axis, mode="clip")
    else:
        x = _weighted(x, dtype, rank, axis, _weights(at, length, scale, sampling))
    outside = (at < 0) | (at > length - 1)
    if sampling.coordinates != "tf_crop_and_resize" or not outside.any():
        return x
    shape = [1] * rank
    shape[axis] = target
    value = np.array(sampling.extrapolation, dtype)
    return relay.where(Constant(outside.reshape(shape)), Constant(value), x)


def _positions(
    length: int, target: int, scale: float, mode: str, region: tuple[float, float]
) -> Array:
    """Positions in float32, as in ONNX Runtime: the nearest pixel depends on the last bit."""
    x, factor, half = np.arange(target, dtype=np.float32), np.float32(scale), np.float32(0.5)
    spread = np.float32(length - 1), np.float32(max(target - 1, 1))
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and target > 1):
        return (x + half) / factor - half
    if mode == "pytorch_half_pixel":
        return x
    if mode == "half_pixel_symmetric":  # the centres of result and data coincide
        shift = np.float32(length / 2 * (1 - target / (length * scale)))
        return shift + (x + half) / factor - half
    if mode == "align_corners":
        return x * spread[0] / spread[1]
    if mode == "asymmetric":
        return x / factor
    if mode == "tf_half_pixel_for_nn":
        return (x + half) / factor
    if mode == "tf_crop_and_resize":
        first, last = map(np.float32, region)
        if target == 1:
            return np.array([half * (first + last) * spread[0]])
        return first * spread[0] + x * (last - first) * spread[0] / spread[1]
    raise ImporterError(f"coordinates {mode!r:.40} do not exist")


def _nearest(at: Array, rounding: str) -> Array:
    rules = {
        "round_prefer_floor": lambda: np.ceil(at - 0.5),
        "round_prefer_ceil": lambda: np.floor(at + 0.5),
        "floor": lambda: np.floor(at),
        "ceil": lambda: np.ceil(at),
    }
    if rounding not in rules:
        raise ImporterError(f"nearest_mode {rounding!r:.40} does not exist")
    return rules[rounding]().astype(np.int64)


def _triangle(t: Array) -> Array:
    return np.maximum(1 - np.abs(t), 0)


def _spline(a: float) -> Callable[[Array], Array]:
    """The cubic convolution kernel with slope `a` at 1."""

    def weights(t: Array) -> Array:
        t = np.abs(t)
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        far = a * (((t - 5) * t + 8) * t - 4)
        return np.where(t <= 1, near, np.where(t < 2, far, 0))

    return weights


def _weights(at: Array, length: int, scale: float, sampling: Sampling) -> Array:
    """The matrix (result, data) of weights; pixels outside the data equal the border pixel."""
    cubic = sampling.mode == "cubic"
    kernel = _spline(sampling.cubic) if cubic else _triangle
    stretch = max(1.0, 1 / scale) if sampling.antialias else 1.0
    reach = (2 if cubic else 1) * stretch
    pixels = np.floor(at - reach).astype(np.int64)[:, None] + np.arange(int(2 * reach) + 3)
    weights = kernel((pixels - at[:, None]) / stretch)
    if sampling.exclude_outside:
        weights = np.where((pixels >= 0) & (pixels < length), weights, 0)
    weights = weights / weights.sum(axis=1, keepdims=True)
    matrix = np.zeros((len(at), length))
    np.add.at(matrix, (np.arange(len(at))[:, None], pixels.clip(0, length - 1)), weights)
    return matrix


def _weighted(x: Expr, dtype: str, rank: int, axis: int, matrix: Array) -> Expr:
    """Weighted sums over one axis, one per row of weights; sums of integers are rounded towards
    zero."""
    if "float" in dtype:
        return product_along(x, dtype, rank, axis, matrix)
    found = product_along(relay.cast(x, "float32"), "float32", rank, axis, matrix)
    return relay.cast(found, dtype)


def product_along(x: Expr, dtype: str, rank: int, axis: int, matrix: Array) -> Expr:
    """Weighted sums over one axis of `x`, one per row of `matrix`."""
    weights = Constant(matrix.astype(dtype))
    if axis == rank - 1:
        return relay.nn.dense(x, weights)
    order = [a for a in range(rank) if a != axis] + [axis]
    last = relay.nn.dense(relay.transpose(x, axes=order), weights)
    return relay.transpose(last, axes=[order.index(a) for a in range(rank)])
