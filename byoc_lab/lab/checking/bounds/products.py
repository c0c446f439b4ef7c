"""Rounding errors of sums of products, and of values that a kernel adds within such a sum.

A sum of k products p_j rounds k times, each time relative to the partial sum: u / sqrt(3) * sqrt(k)
    * max(|partial sums|, sqrt(sum of p_j ** 2)), the probabilistic form of the running error bound
    (Higham and Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci.
    Comput. 41, 2019). The worst case, with k in place of sqrt(k), is also correct but useless:
    after the 27 layers of MobileNet it exceeds the result.

Kernels may start a sum with a value that the module adds to the result: DNNL's convolutions load
    the bias, or the tensor of a residual sum, into the accumulator. Each of the k roundings is then
    relative to |partial sum + b|. If P is the largest partial sum, starting with b may increase the
    variance by (u / sqrt(3)) ** 2 * k * ((P + |b|) ** 2 - P ** 2); the addition gets it on top of
    its own rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.step import Array, Step, Sum
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.relay.op.framework.arithmetic import Arithmetic

CHUNKS = 4  # the number of computed partial sums


def summed(step: Step) -> Sum | None:
    """The result of a step as a sum to which a kernel may add another value first; None if the step
    is not such a sum.

    Sums of products qualify, and additions to them and scalings of them: a kernel may fold the
    scale into its weights.
    """
    rule = SUMS.get(step.arithmetic)
    return rule(step) if rule is not None else None


def _convolution(step: Step) -> Sum:
    x, w = step.args[:2]
    data, kernel = Layout(step.attrs.data_layout), Layout(step.attrs.kernel_layout)
    outputs = [n for n, (letter, _) in enumerate(kernel.axes) if letter.upper() in "GO"]
    k = w.size // prod(w.shape[n] for n in outputs)
    if step.attrs.get("output_padding") is not None:  # the weight is transposed
        k //= step.attrs.groups
    if step.attrs.groups > 1:
        return _sum(k, step.value, step.squares)
    channel, inner = data.index_of("C"), kernel.index_of("I")
    # If only one operand has its channels in blocks, the channels are not sliced.
    same = x.shape[channel] == w.shape[inner]
    slices = _slices(x.shape[channel]) if same else iter([slice(None)])
    parts = (step.again(_slice_of(x, channel, s), _slice_of(w, inner, s)) for s in slices)
    return _sum(k, step.value, step.squares, _largest_partial(parts))


def _matrix_product(step: Step) -> Sum:
    """(..., M, K) times (..., K, N); nn.dense always transposes its weight."""
    x, y = step.args
    x = x.swapaxes(-1, -2) if step.attrs.get("transpose_a", False) else x
    y = y.swapaxes(-1, -2) if step.attrs.get("transpose_b", True) else y
    k = x.shape[-1]
    parts = (x[..., s] @ y[..., s, :] for s in _slices(k))
    return _sum(k, step.value, step.squares, _largest_partial(parts))


def _sum(k: int, value: Array, squares: Array, partial: Any = 0.0) -> Sum:
    """k: number of products; squares: the sum of their squares; partial: largest partial sum."""
    return Sum(k, np.maximum(np.maximum(np.abs(value), np.sqrt(squares)), partial))


def _largest_partial(terms: Iterator[Array]) -> Array:
    """The largest absolute value that the running sum of `terms` takes, element by element."""
    total = largest = np.zeros(())
    for term in terms:
        total = total + term
        largest = np.maximum(largest, np.abs(total))
    return largest


def _slices(length: int) -> Iterator[slice]:
    edges = np.linspace(0, length, min(CHUNKS, length) + 1).astype(int)
    return (slice(a, b) for a, b in pairwise(edges))


def _slice_of(array: Array, axis: int, part: slice) -> Array:
    return array[(slice(None),) * axis + (part,)]


# An operand that is added to a sum, or that scales the sum.


def added_to(step: Step) -> Iterator[tuple[Sum, Array]]:
    """For an addition: pairs of an argument that is a sum, and the value added to it."""
    if step.arithmetic is Arithmetic.ADDITION:
        yield from _operands(step)


def _operands(step: Step) -> Iterator[tuple[Sum, Array]]:
    """Pairs of an argument of a binary operator that is a sum, and the other argument."""
    for n in (0, 1):
        known = step.sums[n] if n < len(step.sums) else None
        if known is not None and known.peak.shape == step.value.shape:
            yield known, along_axis(step, step.args[1 - n]) if n == 0 else step.args[0]


def along_axis(step: Step, vector: Array) -> Array:
    """The vector of a bias_add or batch_norm along its axis; the value unchanged for other
    operators."""
    axis = getattr(step.attrs, "axis", None)
    if axis is None or vector.ndim != 1:
        return vector
    shape = [1] * step.args[0].ndim
    shape[int(axis)] = -1
    return vector.reshape(shape)


def _added(step: Step) -> Sum | None:
    found = [Sum(s.roundings, s.peak + np.abs(other)) for s, other in _operands(step)]
    return max(found, key=lambda s: s.roundings, default=None)


def _scaled(step: Step) -> Sum | None:
    for known, other in _operands(step):
        return Sum(known.roundings, known.peak * np.abs(other))
    return None


def _normalized(step: Step) -> Sum | None:
    known = step.sums[0] if step.sums else None
    if known is None:
        return None
    scale, shift = batch_norm_line(step)
    return Sum(known.roundings, known.peak * np.abs(scale) + np.abs(shift))


def batch_norm_line(step: Step) -> tuple[Array, Array]:
    """Scale and shift of a batch norm as a linear function of its data, shaped along its axis."""
    gamma, beta, mean, variance = (along_axis(step, v) for v in step.args[1:])
    scale = (gamma if step.attrs.scale else 1) / np.sqrt(variance + step.attrs.epsilon)
    return scale, (beta if step.attrs.center else 0) - mean * scale


def beginning(step: Step) -> Array:
    """The deviation of sums among the arguments of an addition if a kernel starts them with the
    other argument."""
    found: Any = 0.0
    for known, other in _operands(step):
        found = np.maximum(found, known.begun_with(other))
    return np.asarray(found)


def beginning_of_batch_norm(step: Step) -> Array:
    """As `beginning`, for a batch norm whose scale is folded into the weights: the sum starts with
    the shift."""
    known = step.sums[0] if step.sums else None
    if known is None:
        return np.zeros(())
    scale, shift = batch_norm_line(step)
    return Sum(known.roundings, known.peak * np.abs(scale)).begun_with(shift)


PRODUCTS: dict[Arithmetic, Callable[[Step], Sum]] = {
    Arithmetic.CONVOLUTION: _convolution,
    Arithmetic.MATRIX_PRODUCT: _matrix_product,
}
SUMS: dict[Arithmetic, Callable[[Step], Sum | None]] = {
    **PRODUCTS,
    Arithmetic.ADDITION: _added,
    Arithmetic.PRODUCT: _scaled,
    Arithmetic.BATCH_NORM: _normalized,
}
