"""Operators on displaced windows: deformable convolution and correlation.

Source: `DeformableConv2DRel` (src/relay/op/nn/convolution.h) and `CorrelationRel`
(correlation.cc) of TVM 0.16.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, boolean, integer, integers, string
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.layout import inverse_permute, permute, positions, with_layout
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    differ,
    dim,
    fail,
    need_length,
    need_positive,
    need_rank,
    out_dtype,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import by_topi, dtype_of, typed
from byoc_lab.relay.op.framework.windows import (
    check_window_attrs,
    four_pads,
    padded,
    pads_of,
    spatial_result,
    static_result,
    window_normalize,
)
from byoc_lab.relay.op.nn.conv import conv_flops
from byoc_lab.relay.op.vision.regions import bilinear

DEFORMABLE = "nn.deformable_conv2d"


def _orders(attrs: AnyValue) -> tuple[tuple[int, ...], ...]:
    """Permutations to (N, C, H, W) for data and result, and to (O, I, H, W) for the weight.

    In the order data, weight, result.

    The offset has the layout of the data.
    """
    return (
        positions(DEFORMABLE, "data_layout", attrs.data_layout, "NCHW"),
        positions(DEFORMABLE, "kernel_layout", attrs.kernel_layout, "OIHW"),
        positions(DEFORMABLE, "out_layout", attrs.out_layout or attrs.data_layout, "NCHW"),
    )


def _weight(attrs: AnyValue, w: TensorType | None, channels: AnyValue) -> TensorType | None:
    """The type of the weight, checked; without one, the type that follows from the attributes."""
    _, order, _ = _orders(attrs)
    inputs = dim(lambda c: c // attrs.groups, channels)
    if w is None:
        if attrs.channels is None or attrs.kernel_size is None:
            return None
        need_length(DEFORMABLE, "kernel_size", attrs.kernel_size, 2)
        return TensorType(inverse_permute((attrs.channels, inputs, *attrs.kernel_size), order))
    need_rank(DEFORMABLE, "weight", w, 4)
    outputs, own, *kernel = permute(w.shape, order)
    stated = (attrs.channels, inputs, *(attrs.kernel_size or (None, None)))
    for name, found, expected in zip(
        ("output channels", "input channels", "height", "width"),
        (outputs, own, *kernel),
        stated,
        strict=True,
    ):
        if expected is not None and differ(found, expected):
            fail(DEFORMABLE, f"weight must have {name} {expected}, found {found} in {w}")
    return w


def deformable_relation(
    attrs: AnyValue, data: Type | None, offset: Type | None, weight: Type | None
) -> Types:
    """data (N, C, H, W) and weight (O, C / groups, KH, KW) give (N, O, H', W') as in nn.conv2d.

    offset is (N, 2 * KH * KW * deformable_groups, H', W'): the displacement down
    and across, in pixels, for each group and kernel position.
    """
    x, moves, w = tensors(DEFORMABLE, "data offset weight", data, offset, weight)
    check_window_attrs(DEFORMABLE, attrs, 2)
    order, kernel_order, out_order = _orders(attrs)
    if x is None:
        return x, moves, w, None
    need_rank(DEFORMABLE, "data", x, 4)
    n, c, *size = permute(x.shape, order)
    need_positive(DEFORMABLE, attrs, "groups", "deformable_groups")
    if not isinstance(c, Unknown) and c % attrs.groups:
        fail(
            DEFORMABLE, f"the {c} input channels of {x} are not divisible by groups={attrs.groups}"
        )
    typed_weight = _weight(attrs, w, c)
    if typed_weight is None:
        return x, moves, w, None
    w = typed_weight if w is not None else TensorType(typed_weight.shape, x.dtype)
    outputs, _, *kernel = permute(w.shape, kernel_order)
    result = spatial_result(DEFORMABLE, size, kernel, attrs)
    each = dim(lambda h, w: 2 * h * w * attrs.deformable_groups, *kernel)
    expected = TensorType(inverse_permute((n, each, *result), order), x.dtype)
    if moves is not None:
        same_rank = len(moves.shape) == 4
        if not same_rank or any(map(differ, moves.shape, expected.shape)):
            fail(
                DEFORMABLE, f"offset must be {expected} for data {x} and weight {w}, found {moves}"
            )
    shape = inverse_permute((n, outputs, *result), out_order)
    return x, moves or expected, w, TensorType(shape, out_dtype(attrs, x))


def deformable_reference(
    attrs: AnyValue, data: np.ndarray, offset: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """A position outside the image gives 0, even less than a pixel above or left of it."""
    order, kernel_order, out_order = _orders(attrs)
    kind = np.dtype(attrs.out_dtype or data.dtype)
    images, w = data.transpose(order).astype(kind), weight.transpose(kernel_order).astype(kind)
    batch, channels, height, width = images.shape
    outputs, _, *kernel = w.shape
    rows, columns = static_result(DEFORMABLE, (height, width), kernel, attrs)
    parts = attrs.deformable_groups
    moves = offset.transpose(order).reshape(batch, parts, *kernel, 2, rows, columns)
    (top, left), _ = pads_of(attrs.padding, 2)
    starts = [
        np.arange(count) * stride - pad + np.arange(k)[:, None] * step
        for count, k, stride, pad, step in zip(
            (rows, columns), kernel, attrs.strides, (top, left), attrs.dilation, strict=True
        )
    ]
    down, across = starts[0][:, None, :, None], starts[1][None, :, None, :]
    groups = attrs.groups
    sampled = np.empty((batch, channels, *kernel, rows, columns), kind)
    for n, part in np.ndindex(batch, parts):
        own = slice(part * channels // parts, (part + 1) * channels // parts)
        y, x = down + moves[n, part, :, :, 0], across + moves[n, part, :, :, 1]
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        sampled[n, own] = bilinear(images[n, own], y.astype(kind), x.astype(kind)) * inside
    split = sampled.reshape(batch, groups, channels // groups, *kernel, rows, columns)
    kernels = w.reshape(groups, outputs // groups, channels // groups, *kernel)
    out = np.einsum("ngchwyx,gochw->ngoyx", split, kernels).reshape(batch, outputs, rows, columns)
    return np.ascontiguousarray(out.transpose(np.argsort(out_order)).astype(kind))


def _deformable_relax(
    R: AnyValue, attrs: AnyValue, x: AnyValue, offset: AnyValue, w: AnyValue
) -> AnyValue:
    if attrs.groups > 1:
        raise BuildError(f"{DEFORMABLE}: apache-tvm supports only groups=1, found {attrs.groups}")
    order, kernel_order, _ = _orders(attrs)
    images, moves, kernel = (
        typed(R.permute_dims(value, list(axes)))
        for value, axes in ((x, order), (offset, order), (w, kernel_order))
    )
    out = by_topi(
        f"{DEFORMABLE}_nchw",
        images,
        moves,
        kernel,
        list(attrs.strides),
        list(four_pads(attrs.padding)),
        list(attrs.dilation),
        attrs.deformable_groups,
        attrs.groups,
        attrs.out_dtype or dtype_of(x),
    )
    return with_layout(R, out, "NCHW", attrs.out_layout or attrs.data_layout)


_CONV_FIELDS = Op.get("nn.conv2d").definition.attrs.fields
_GROUPS = Attr(
    "deformable_groups", integer, 1, "number of groups of channels with an offset of their own"
)

define_op(
    DEFORMABLE,
    "data offset weight",
    deformable_relation,
    reference=deformable_reference,
    attrs=AttrsType(
        "relay.attrs.DeformableConv2DAttrs", (*_CONV_FIELDS[:3], _GROUPS, *_CONV_FIELDS[3:])
    ),
    normalize=window_normalize(2),
    # Each position is a weighted sum of four pixels; an offset holds two numbers for a position.
    flops=lambda attrs, args, result: (
        conv_flops(attrs, (args[0], args[2]), result)
        + 4 * prod(args[1].shape) * permute(args[0].shape, _orders(attrs)[0])[1]
    ),
    relax=_deformable_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="nn.conv2d that reads each element of a window displaced by an offset.",
)

# nn.correlation ----------------------------------------------------------------------------------

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
    return out / np.array(k * k * a.shape[1], a.dtype)


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
