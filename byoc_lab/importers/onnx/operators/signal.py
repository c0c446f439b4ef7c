"""Fourier transforms, as products with matrices of cosines and sines."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import MAX_STEPS, Array, Node
from byoc_lab.importers.onnx.reading import dtype_of
from byoc_lab.importers.resampling import product_along
from byoc_lab.relay.ir.expr import Constant, Expr


@converts("DFT")
def dft(node: Node) -> Expr:
    """The last dimension holds real and imaginary parts, or only real numbers."""
    x = node[0]
    if node.opset >= 20:
        axis = -2 if node.optional(2) is None else int(node.known(2, "the axis").item())
    else:
        axis = int(node.attr("axis", 1))
    axis = node.axis(axis, node.rank(x))
    stated = node.optional(1)
    length = node.length(x, axis) if stated is None else int(node.known(1, "the length").item())
    onesided, inverse = bool(node.attr("onesided", 0)), bool(node.attr("inverse", 0))
    return _transformed(node, x, axis, length, onesided, inverse)


@converts("STFT")
def stft(node: Node) -> Expr:
    """One transform per frame: (batch, frames, frequencies, 2)."""
    x, window = node[0], node.optional(2)
    x = relay.expand_dims(x, axis=2) if node.rank(x) == 2 else x
    step = int(node.known(1, "the step of the frames").item())
    if node.optional(3) is not None:
        length = int(node.known(3, "the length of the frames").item())
    elif window is not None:
        length = node.length(window, 0)
    else:
        length = node.length(x, 1)
    last = node.length(x, 1) - length
    if step < 1 or not 0 <= last // step < MAX_STEPS:
        node.fail(
            f"frames of {length} with a step of {step} do not fit in a signal of {last + length}, "
            f"or are more than {MAX_STEPS:,}"
        )
    starts = np.arange(0, last + 1, step)
    frames = relay.take(x, Constant(starts[:, None] + np.arange(length)), axis=1, mode="clip")
    if window is not None:
        frames = frames * relay.expand_dims(window, axis=1)
    return _transformed(node, frames, 2, length, bool(node.attr("onesided", 1)), False)


def _transformed(
    node: Node, x: Expr, axis: int, length: int, onesided: bool, inverse: bool
) -> Expr:
    """The transform along `axis`, with the data padded by zeros to `length` elements."""
    if not 1 <= length <= MAX_STEPS:
        node.fail(f"transforms of 1 to {MAX_STEPS:,} elements are supported, found {length}")
    cosines, sines = _waves(node.length(x, axis), length, onesided)
    if inverse:
        cosines, sines = cosines / length, -sines / length
    dtype, rank = node.dtype(x), node.rank(x)

    def product(part: int, matrix: Array) -> Expr:
        numbers = relay.take(x, Constant(np.array([part])), axis=-1, mode="clip")
        return product_along(numbers, dtype, rank, axis, matrix)

    found = [product(0, cosines), product(0, -sines)]
    if node.length(x, -1) == 2:
        found = [found[0] + product(1, sines), found[1] + product(1, cosines)]
    return relay.concatenate(found, axis=-1)


def _waves(have: int, length: int, onesided: bool) -> tuple[Array, Array]:
    """Cosines and sines of each frequency (rows) at each element (columns)."""
    frequencies = np.arange(length // 2 + 1 if onesided else length)
    elements = np.arange(have)
    angles = 2 * np.pi * (np.outer(frequencies, elements) % length) / length
    used = elements < length
    return np.cos(angles) * used, np.sin(angles) * used


@converts("MelWeightMatrix")
def mel_weight_matrix(node: Node) -> Expr:
    """Triangular filters over the frequencies of a transform, of equal width in mel."""
    names = ("number of bins", "length", "sample rate", "lower edge", "upper edge")
    bins, length, rate, lower, upper = (
        float(node.known(i, f"the {name}").item()) for i, name in enumerate(names)
    )
    if not (1 <= bins <= MAX_STEPS and 2 <= length <= MAX_STEPS and rate > 0):
        node.fail(f"no filter exists for {bins:g} bins, length {length:g} and rate {rate:g}")
    low, high = (2595 * np.log10(1 + f / 700) for f in (lower, upper))
    mel = low + np.arange(int(bins) + 2) * (high - low) / (bins + 2)
    edges = np.floor((length + 1) * 700 * (10 ** (mel / 2595) - 1) / rate)[:, None]
    first, centre, last = edges[:-2], edges[1:-1], edges[2:]
    at = np.arange(int(length) // 2 + 1)
    rising = np.where(centre > first, (at - first) / np.maximum(centre - first, 1), at == centre)
    falling = (last - at) / np.maximum(last - centre, 1)
    weights = np.where((at >= first) & (at <= centre), rising, 0)
    weights = np.where((at >= centre) & (at < last), falling, weights)
    return Constant(weights.T.astype(dtype_of(node.attr("output_datatype", 1))))
