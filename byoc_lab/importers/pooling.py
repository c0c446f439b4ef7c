"""Pooling by the rules that ONNX Runtime and PyTorch share.

In ceil mode both omit a last window that begins in the padding after the data; Relay includes it.
If the rules differ, importers replace ceil mode by explicit padding that gives the framework's
result. Both can return the positions of the maxima, which no Relay operator does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import ImporterError
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.op.nn.adaptive_pool import bins


def windows(size: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> int:
    """The number of windows in ceil mode, without one that begins after the data."""
    span = (kernel - 1) * dilation + 1
    count = -(-(size + before + after - span) // stride) + 1
    return count - 1 if (count - 1) * stride >= size + before else count


def pooled(
    build: Callable[..., Expr], data: Expr, sizes: Sequence[Any], options: Mapping[str, Any]
) -> Expr:
    """`build(data, **options)`; with explicit padding instead of ceil mode if Relay's ceil mode
    gives another result. sizes: the spatial sizes, after batch and channels."""
    after = _after(sizes, options) if options["ceil_mode"] else None
    if after is None:
        return build(data, **options)
    before, stated = _sides(options, len(sizes))
    padding, include = [*before, *after], options.get("count_include_pad", False)
    if include and any(a > s for a, s in zip(after, stated, strict=True)):
        # Averages include explicit padding, but not positions beyond it.
        data = relay.nn.pad(data, [(0, 0), (0, 0), *zip(before, stated, strict=True)])
        beyond = [max(a - s, 0) for a, s in zip(after, stated, strict=True)]
        padding, include = [*[0] * len(before), *beyond], False
    changed = {**options, "padding": padding, "ceil_mode": False}
    if "count_include_pad" in options:
        changed["count_include_pad"] = include
    return build(data, **changed)


def _sides(options: Mapping[str, Any], rank: int) -> tuple[list[int], list[int]]:
    pads = list(options["padding"])
    return pads[:rank], pads[-rank:]


def _after(sizes: Sequence[Any], options: Mapping[str, Any]) -> list[int] | None:
    """The padding after each axis; None if Relay's ceil mode gives the framework's result."""
    rank, found, differs = len(sizes), [], False
    if not all(isinstance(n, int) for n in sizes):
        return None  # the rules differ for some sizes only, which are known only at run time
    before, stated = _sides(options, rank)
    dilations = options.get("dilation", [1] * rank)
    for n, k, s, d, b, a in zip(
        sizes, options["pool_size"], options["strides"], dilations, before, stated, strict=True
    ):
        span, count = (k - 1) * d + 1, windows(n, k, s, d, b, a)
        differs |= count != -(-(n + b + a - span) // s) + 1
        whole = (n + b + a - span) // s + 1
        found.append(a if whole == count else max((count - 1) * s + span - n - b, 0))
    return found if differs else None


def whole_window_means(
    build: Callable[..., Expr], data: Expr, sizes: Sequence[int], options: Mapping[str, Any]
) -> Expr:
    """The sum of each window over the size of its kernel, also for windows that reach beyond the
    padding. sizes: as for `pooled`; known in ceil mode."""
    changed = {**options, "count_include_pad": True}
    if options["ceil_mode"]:
        before, stated = _sides(options, len(sizes))
        width = [(0, 0), (0, 0)]
        kernels, strides = options["pool_size"], options["strides"]
        for n, k, s, b, a in zip(sizes, kernels, strides, before, stated, strict=True):
            width.append((b, max((windows(n, k, s, 1, b, a) - 1) * s + k - n - b, 0)))
        data = relay.nn.pad(data, width)
        changed |= {"padding": [0] * len(sizes), "ceil_mode": False}
    return build(data, **changed)


def sliding_positions(
    size: int, kernel: int, stride: int, dilation: int, before: int, after: int, *, ceil: bool
) -> list[list[int]]:
    """The positions along an axis that each window covers, without positions in the padding."""
    span = (kernel - 1) * dilation + 1
    count = (size + before + after - span) // stride + 1
    if ceil:
        count = windows(size, kernel, stride, dilation, before, after)
    starts = [n * stride - before for n in range(count)]
    return [[p for p in range(b, b + span, dilation) if 0 <= p < size] for b in starts]


def adaptive_positions(size: int, count: int) -> list[list[int]]:
    """The positions along an axis that each window of adaptive pooling to size `count` covers."""
    return [list(range(*part)) for part in bins(size, count)]


def positions_of_maxima(
    data: Expr,
    shape: Sequence[Any],
    axes: Sequence[Sequence[list[int]]],
    numbers: np.ndarray[Any, Any] | None = None,
) -> Expr:
    """The flat position of each window's maximum in the plane of its channel, int64; the first
    position if maxima are equal.

    shape: of the data; the batch may be unknown. axes: for each spatial axis, the positions that
    each window covers. numbers: the index of each position in a plane; row-major by default.
    Raises ImporterError for a window without data.
    """
    source = _sources(shape[2:], axes)
    counts, size = source.shape[: len(axes)], math.prod(shape[2:])
    source = source.reshape(math.prod(counts), -1)
    batch = shape[0] if isinstance(shape[0], int) else -1
    planes = relay.reshape(data, (batch * shape[1], size))
    best = relay.argmax(relay.take(planes, Constant(source), axis=1), axis=-1)
    names = source if numbers is None else numbers.ravel()[source]
    row = Constant(np.arange(len(source), dtype=np.int32) * np.int32(source.shape[1]))
    found = relay.take(Constant(names.ravel()), relay.add(best, row))
    return relay.reshape(found, (batch, shape[1], *counts))


def _sources(
    sizes: Sequence[int], axes: Sequence[Sequence[list[int]]]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The flat positions in each window: the axes of the windows, then the axes of the kernel.
    Windows that cover fewer positions repeat their first position.
    """
    rank = len(axes)
    found = np.zeros((1,) * 2 * rank, np.int64)
    for axis, (size, rows) in enumerate(zip(sizes, axes, strict=True)):
        if not all(rows):
            raise ImporterError(
                "a window covers padding alone, so that its maximum has no position: pool with "
                "less padding, or without indices"
            )
        longest = max(map(len, rows), default=1)
        filled = [row + row[:1] * (longest - len(row)) for row in rows]
        form = [1] * 2 * rank
        form[axis], form[rank + axis] = len(rows), longest
        found = found * size + np.array(filled, np.int64).reshape(form)
    return found
