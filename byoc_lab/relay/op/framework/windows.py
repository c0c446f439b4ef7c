"""Sliding windows over one, two or three spatial axes, shared by convolution and pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any as AnyValue
from typing import cast

import numpy as np

from byoc_lab.relay.ir.dims import Dim, Unknown
from byoc_lab.relay.op.framework.relations import dim, fail, need_length, need_positive

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
AXIS_NAMES = {"D": "depth", "H": "height", "W": "width"}
Pads = tuple[tuple[int, ...], tuple[int, ...]]


def spatial_axis_names(rank: int) -> str:
    """ "height, width" for rank 2."""
    return ", ".join(AXIS_NAMES[axis] for axis in SPATIAL[rank])


def pads_of(padding: Sequence[int], rank: int) -> Pads:
    """1, `rank` or 2 * `rank` numbers -> (before each spatial axis, after each)."""
    if len(padding) == 2 * rank:
        return tuple(padding[:rank]), tuple(padding[rank:])
    both = tuple(padding) if len(padding) == rank else (padding[0],) * rank
    return both, both


def four_pads(padding: Sequence[int]) -> tuple[int, int, int, int]:
    """1, 2 or 4 numbers -> (top, left, bottom, right)."""
    (top, left), (bottom, right) = pads_of(padding, 2)
    return top, left, bottom, right


def padding_of_builder(padding: AnyValue, rank: int) -> AnyValue:
    """The padding that TVM's builders store: 2 * `rank` numbers."""
    if isinstance(padding, int):
        return (padding,) * (2 * rank)
    if isinstance(padding, Sequence) and len(padding) in (1, rank):
        return sum(pads_of(padding, rank), ())
    return padding


def window_normalize(rank: int) -> Callable[[dict[str, AnyValue]], dict[str, AnyValue]]:
    """The normalization of TVM's window builders: one number per axis, two pads per axis."""

    def normalize(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
        for name in ("strides", "dilation", "kernel_size", "pool_size"):
            if isinstance(values.get(name), int):
                values[name] = (values[name],) * rank
        values["padding"] = padding_of_builder(values["padding"], rank)
        return values

    return normalize


def check_window_attrs(op: str, attrs: AnyValue, rank: int) -> None:
    """Raise TypeInferenceError unless strides, dilation and padding are valid."""
    need_length(op, "strides", attrs.strides, rank)
    need_length(op, "dilation", attrs.dilation, rank)
    need_length(op, "padding", attrs.padding, *sorted({1, rank, 2 * rank}))
    need_positive(op, attrs, "strides", "dilation")
    if min(attrs.padding) < 0:
        fail(op, f"attribute padding must not be negative, found {list(attrs.padding)}")


def spatial_result(
    op: str, size: Sequence[Dim], kernel: Sequence[Dim], attrs: AnyValue
) -> tuple[Dim, ...]:
    """The spatial size of the result; `?` if the input or the kernel is `?`.

    Raises TypeInferenceError when the window is larger than the padded input.
    """
    rank = len(size)
    ceil_mode = attrs.get("ceil_mode", False)
    result: list[Dim] = []
    pads = map(sum, zip(*pads_of(attrs.padding, rank), strict=True))
    for axis, n, k, pad, stride, dilation in zip(
        SPATIAL[rank], size, kernel, pads, attrs.strides, attrs.dilation, strict=True
    ):
        span = dim(lambda k, d=dilation: (k - 1) * d + 1, k)
        room = dim(lambda n, p=pad: n + p, n)
        if not isinstance(span, Unknown) and not isinstance(room, Unknown) and span > room:
            where = AXIS_NAMES[axis]
            fail(
                op,
                f"the window covers {span} elements in {where}, but the padded data has only "
                f"{room}",
            )
        more = stride - 1 if ceil_mode else 0
        count = dim(lambda r, w, m=more, s=stride: (r - w + m) // s + 1, room, span)
        result.append(count)
    return tuple(result)


def static_result(
    op: str, size: Sequence[int], kernel: Sequence[int], attrs: AnyValue
) -> tuple[int, ...]:
    """`spatial_result` for the shape of an array, which has no `?`."""
    return cast("tuple[int, ...]", spatial_result(op, size, kernel, attrs))


def padded(data: np.ndarray, pads: Pads, value: AnyValue) -> np.ndarray:
    """Data (N, C, spatial axes) padded with `value` around its spatial axes."""
    if not any(map(any, pads)):
        return data
    size, (before, after) = data.shape[2:], pads
    around = (b + n + a for b, n, a in zip(before, size, after, strict=True))
    found = np.full((*data.shape[:2], *around), value, data.dtype)
    inner = (slice(b, b + n) for b, n in zip(before, size, strict=True))
    last_axes(found, inner)[...] = data
    return found


def last_axes(data: np.ndarray, index: Iterable[AnyValue]) -> np.ndarray:
    """`data` indexed by one index or slice for each of its last axes; a view if NumPy returns
    one."""
    full_index: tuple[AnyValue, ...] = (..., *index)
    return data[full_index]


def taps(
    data: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    result: Sequence[int],
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """For each kernel position, the view of padded data (N, C, spatial axes) that it multiplies.

    The view has the spatial size `result`; summing kernel[position] * view is the convolution.
    """
    for position in product(*map(range, kernel)):
        slices = (
            slice(k * d, k * d + max((n - 1) * s + 1, 0), s)
            for k, d, n, s in zip(position, dilation, result, strides, strict=True)
        )
        yield position, last_axes(data, slices)
