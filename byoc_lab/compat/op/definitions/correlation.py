"""The correlation of two images: nn.correlation, of FlowNet.

Source: `CorrelationRel` (src/relay/op/nn/correlation.cc) of TVM 0.16.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, boolean, integer, integers, string
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    differ,
    dim,
    fail,
    need_length,
    need_positive,
    need_rank,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import by_topi
from byoc_lab.relay.op.framework.windows import four_pads, padded, pads_of

CORRELATION = "nn.correlation"


def _displacements(attrs: AnyValue) -> np.ndarray:
    """The displacements of the second window along one axis."""
    radius = attrs.max_displacement // attrs.stride2
    return np.arange(-radius, radius + 1) * attrs.stride2


def correlation_relation(attrs: AnyValue, data1: Type | None, data2: Type | None) -> Types:
    """data1 and data2 (N, C, H, W) give (N, D * D, H', W'), D = 2 * (displacement / stride2) + 1.

    H' = ceil((H + padding - 2 * (max_displacement + (kernel_size - 1) / 2)) / stride1).
    """
    a, b = tensors(CORRELATION, "data1 data2", data1, data2)
    need_length(CORRELATION, "padding", attrs.padding, 1, 2, 4)
    need_positive(CORRELATION, attrs, "kernel_size", "stride1", "stride2")
    if attrs.kernel_size % 2 == 0:
        fail(CORRELATION, f"attribute kernel_size must be odd, found {attrs.kernel_size}")
    if attrs.layout != "NCHW":
        fail(CORRELATION, f"attribute layout must be NCHW, found {attrs.layout!r}")
    if a is None or b is None:
        return a, b, None
    need_rank(CORRELATION, "data1", a, 4)
    if len(b.shape) != 4 or any(map(differ, a.shape, b.shape)):
        fail(CORRELATION, f"data2 must have the shape of data1 {a}, found {b}")
    border = attrs.max_displacement + (attrs.kernel_size - 1) // 2
    (top, left), (bottom, right) = pads_of(attrs.padding, 2)
    size = [
        dim(lambda d, pad=pad: -(-(d + pad - 2 * border) // attrs.stride1), d)
        for d, pad in zip(a.shape[2:], (top + bottom, left + right), strict=True)
    ]
    if any(not isinstance(d, Unknown) and d < 1 for d in size):
        fail(CORRELATION, f"borders of {border} leave no element of {a}")
    return a, b, TensorType((a.shape[0], len(_displacements(attrs)) ** 2, *size), a.dtype)


def correlation_reference(attrs: AnyValue, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """For each displacement, the mean product (or distance) over channels and window."""
    pads, k, far = pads_of(attrs.padding, 2), attrs.kernel_size, attrs.max_displacement
    left, right = padded(a, pads, 0), padded(b, pads, 0)
    border = far + (k - 1) // 2
    rows, columns = (-(-(d - 2 * border) // attrs.stride1) for d in left.shape[2:])
    moves = _displacements(attrs)
    out = np.zeros((len(a), len(moves) ** 2, rows, columns), a.dtype)

    def window(data: np.ndarray, y: int, x: int) -> np.ndarray:
        ends = (y + (rows - 1) * attrs.stride1 + 1, x + (columns - 1) * attrs.stride1 + 1)
        return data[:, :, y : ends[0] : attrs.stride1, x : ends[1] : attrs.stride1]

    for index, (down, across) in enumerate(product(moves, moves)):
        for y, x in product(range(far, far + k), repeat=2):
            first, second = window(left, y, x), window(right, y + down, x + across)
            terms = first * second if attrs.is_multiply else np.abs(first - second)
            out[:, index] += terms.sum(axis=1)
    return (out / (k * k * a.shape[1])).astype(a.dtype)  # integer means are truncated, as in TVM


CORRELATION_ATTRS = AttrsType(
    "relay.attrs.CorrelationAttrs",
    (
        Attr("kernel_size", integer, 1, "size of the compared windows, odd"),
        Attr("max_displacement", integer, 1, "largest displacement of a window of data2"),
        Attr("stride1", integer, 1, "step of the window in data1"),
        Attr("stride2", integer, 1, "step of the displacements in data2"),
        Attr(
            "padding",
            integers,
            (0, 0),
            "padding with zeros: (height, width), or all before, then all after",
        ),
        Attr("is_multiply", boolean, True, "True: pixels are multiplied; False: subtracted"),
        Attr("layout", string, "NCHW", "layout; only NCHW"),
    ),
)


def _two_pads(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
    padding = values["padding"]
    return {**values, "padding": (padding, padding) if isinstance(padding, int) else padding}


define_op(
    CORRELATION,
    "data1 data2",
    correlation_relation,
    reference=correlation_reference,
    attrs=CORRELATION_ATTRS,
    flops=lambda attrs, args, result: (
        2 * prod(result.shape) * args[0].shape[1] * attrs.kernel_size**2
    ),
    relax=lambda R, attrs, a, b: by_topi(
        f"{CORRELATION}_nchw",
        a,
        b,
        attrs.kernel_size,
        attrs.max_displacement,
        attrs.stride1,
        attrs.stride2,
        list(four_pads(attrs.padding)),
        attrs.is_multiply,
    ),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    defaults=dict.fromkeys(CORRELATION_ATTRS.by_name, REQUIRED),
    normalize=_two_pads,
    doc="The correlation of each window of data1 with displaced windows of data2 (FlowNet).",
)
