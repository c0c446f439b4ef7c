"""Deformable convolution: nn.deformable_conv2d.

Source: `DeformableConv2DRel` (src/relay/op/nn/convolution.h) of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.attrs import Attr, AttrsType, integer
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
from byoc_lab.relay.op.framework.relax_types import by_topi, dtype_of, typed, zeros_if_empty
from byoc_lab.relay.op.framework.windows import (
    check_window_attrs,
    four_pads,
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

    The order of the permutations is data, weight, result.

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
    """Positions outside the image give 0, even those less than one pixel above or left of the
    image."""
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
    zeros = zeros_if_empty(R, deformable_relation, attrs, *map(typed, (x, offset, w)))
    if zeros is not None:
        return zeros
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
    "deformable_groups", integer, 1, "number of groups of channels, each with a separate offset"
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
