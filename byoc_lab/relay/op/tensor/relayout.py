"""Operators that change the layout of a tensor: layout_transform, depth_to_space, space_to_depth.

Source: `LayoutTransformRel`, `DepthToSpaceRel`, `SpaceToDepthRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import AttributeValueError
from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, integer, string
from byoc_lab.relay.ir.dims import Dim, Unknown
from byoc_lab.relay.ir.layout import Axis, Layout
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.layout import inverse, inverse_permute, permute, positions
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    differ,
    dim,
    fail,
    need_one_of,
    need_positive,
    need_rank,
    product,
)
from byoc_lab.relay.op.framework.relax_types import shape_of

# layout_transform --------------------------------------------------------------------------------


def axes_of_layout(op: str, layout: str) -> tuple[Axis, ...]:
    """ "NCHW16c" -> (("N", 0), ("C", 0), ("H", 0), ("W", 0), ("c", 16)).

    Raises TypeInferenceError for an invalid layout.
    """
    try:
        return Layout(layout).axes
    except AttributeValueError as error:
        fail(op, str(error))


def relaid(op: str, shape: Sequence[Dim], source: str, target: str) -> AnyValue:
    """The steps of a layout change: (shape in parts, order of the parts, shape of the result).

    Each axis is split into blocks, the parts are permuted to the order of `target`, and the parts
    of one result axis are merged. A result axis `?` comes from a data axis `?`.
    """
    have, want = axes_of_layout(op, source), axes_of_layout(op, target)
    if len(have) != len(shape):
        fail(op, f"src_layout {source!r} names {len(have)} axes, data has {len(shape)}")
    if {a for a, _ in have if a.isupper()} != {a for a, _ in want if a.isupper()}:
        fail(op, f"src_layout {source!r} and dst_layout {target!r} must have the same axes")
    for (letter, size), length in zip(have, shape, strict=True):
        if size and differ(length, size):
            fail(op, f"axis {size}{letter} of {source!r} must have size {size}, found {length}")
    before, after = _spans(have), _spans(want)
    lengths: dict[_Part, Dim] = {}
    cut: dict[str, list[int]] = {}  # axis -> the sizes of its blocks in both layouts
    for (letter, _), (_, inner), length in zip(have, before, shape, strict=True):
        if not letter.isupper():
            continue
        ends = {low for name, low in (*before, *after) if name == letter}
        cut[letter] = sorted(ends | {1})
        for small, large in pairwise(cut[letter]):
            if large % small:
                fail(
                    op,
                    f"block size {large} of axis {letter} is not a multiple of block size {small}",
                )
            lengths[letter, small] = large // small
        more = cut[letter][-1] // inner
        if not isinstance(length, Unknown) and length % more:
            fail(
                op,
                f"axis {letter} of {source!r} has size {length}, not a multiple of its blocks in "
                f"{target!r}",
            )
        lengths[letter, cut[letter][-1]] = dim(lambda n, m=more: n // m, length)
    parts = [part for axis in _parts(have, before, cut) for part in axis]
    results = _parts(want, after, cut)
    order = [parts.index(part) for axis in results for part in axis]
    result = [product(lengths[part] for part in axis) for axis in results]
    return [lengths[part] for part in parts], order, result


_Part = tuple[str, int]
"""(axis, number of elements of the axis per step along this part)."""


def _spans(axes: Sequence[Axis]) -> list[_Part]:
    """For each axis of a layout, the letter of the full axis, and the step along the full axis."""
    steps: dict[str, int] = {}
    found = []
    for letter, size in reversed(axes):
        step = steps.get(letter.upper(), 1)
        found.append((letter.upper(), step))
        steps[letter.upper()] = step * (size or 1)
    return found[::-1]


def _parts(
    axes: Sequence[Axis], spans: Sequence[_Part], cut: dict[str, list[int]]
) -> list[list[_Part]]:
    """For each axis of a layout, the parts that it consists of, outermost first."""
    return [
        [
            (letter, step)
            for step in reversed(cut[letter])
            if low <= step and (not size or step < low * size)
        ]
        for (_, size), (letter, low) in zip(axes, spans, strict=True)
    ]


def padding_steps(op: str, shape: Sequence[Dim], source: str, target: str) -> list[AnyValue]:
    """The steps of a layout change with padding, if the last block of an axis is not full.

    Each step is (number of zeros to append to each axis, the result of `relaid` for the padded
    data).
    """
    old, new = axes_of_layout(op, source), axes_of_layout(op, target)
    blocks = {a: (_block(old, a), _block(new, a)) for a, _ in old if a.isupper()}
    if any(one % other and other % one for one, other in blocks.values()):
        plain = Layout(source).plain.name
        first = relaid(op, shape, source, plain)
        return [([0] * len(shape), first), *padding_steps(op, first[2], plain, target)]
    pads = []
    for (axis, _), length in zip(old, shape, strict=False):
        inner, block = blocks.get(axis, (1, 1))
        pads.append(0 if isinstance(length, Unknown) else -length % max(block // inner, 1))
    wide = [dim(lambda n, p=pad: n + p, n) for pad, n in zip(pads, shape, strict=False)]
    return [(pads, relaid(op, wide if len(wide) == len(shape) else shape, source, target))]


def _block(axes: Sequence[Axis], letter: str) -> int:
    """The number of elements of an axis that all its blocks together hold."""
    return prod(size for name, size in axes if name == letter.lower())


def pads_blocks(shape: Sequence[Dim], source: str, target: str) -> bool:
    """Whether a layout_transform pads: 6 channels in blocks of 4 become 8."""
    return any(any(pads) for pads, _ in padding_steps("layout_transform", shape, source, target))


def layout_transform_type(attrs: AnyValue, x: TensorType) -> Type:
    """data in src_layout gives the same elements in dst_layout.

    An incomplete block is padded with zeros, which remain when the layout is converted back.
    """
    steps = padding_steps("layout_transform", x.shape, attrs.src_layout, attrs.dst_layout)
    return TensorType(steps[-1][1][2], x.dtype)


def _layout_transform_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    steps = padding_steps("layout_transform", x.shape, attrs.src_layout, attrs.dst_layout)
    for pads, (parts, order, shape) in steps:
        x = np.pad(x, [(0, n) for n in pads])
        x = x.reshape(parts).transpose(order).reshape(shape)
    return x


def _layout_transform_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    steps = padding_steps("layout_transform", shape_of(x), attrs.src_layout, attrs.dst_layout)
    for pads, (parts, order, shape) in steps:
        if any(pads):
            x = R.nn.pad(x, [n for pad in pads for n in (0, pad)])
        x = R.reshape(R.permute_dims(R.reshape(x, parts), order), shape)
    return x


define_op(
    "layout_transform",
    "data",
    result_type=layout_transform_type,
    reference=_layout_transform_reference,
    attrs=AttrsType(
        "relay.attrs.LayoutTransformAttrs",
        (
            Attr("src_layout", string, doc="layout of the data: NCHW, NCHW16c, ..."),
            Attr("dst_layout", string, doc="layout of the result"),
        ),
    ),
    relax=_layout_transform_relax,
    pattern=OpPattern.INJECTIVE,
    doc="data in another layout; 16c are blocks of 16 channels, the last one padded with zeros.",
)

# depth_to_space, space_to_depth ------------------------------------------------------------------

DEPTH_MODES = ("DCR", "CRD")
SUBPIXEL_ATTRS = AttrsType(
    "relay.attrs.SubPixelAttrs",
    (
        Attr("block_size", integer, 1, "height and width of a block"),
        Attr("layout", string, "NCHW", "layout of data and result"),
        Attr("mode", string, "DCR", "position of the block in the channels: DCR first, CRD last"),
    ),
)


def _steps(op: str, attrs: AnyValue, shape: AnyValue) -> AnyValue:
    """(shape in parts, order of the parts, shape of the result), for layout NCHW."""
    n, c, h, w = shape
    b = attrs.block_size
    need_positive(op, attrs, "block_size")
    if op == "nn.space_to_depth":
        if any(not isinstance(d, Unknown) and d % b for d in (h, w)):
            fail(op, f"height {h} and width {w} are not divisible into blocks of {b}")
        high, wide = (dim(lambda n: n // b, d) for d in (h, w))
        result = (n, dim(lambda c: c * b * b, c), high, wide)
        return (n, c, high, b, wide, b), (0, 3, 5, 1, 2, 4), result
    if not isinstance(c, Unknown) and c % (b * b):
        fail(op, f"{c} channels are not divisible into blocks of {b} x {b}")
    need_one_of(op, "mode", attrs.mode, DEPTH_MODES)
    few = dim(lambda c: c // (b * b), c)
    result = (n, few, *(dim(lambda n: n * b, d) for d in (h, w)))
    if attrs.mode == "DCR":
        return (n, b, b, few, h, w), (0, 3, 4, 1, 5, 2), result
    return (n, few, b, b, h, w), (0, 1, 4, 2, 5, 3), result


def _subpixel(op: str, doc: str, fixed: dict[str, AnyValue], **facts: AnyValue) -> None:
    def result_type(attrs: AnyValue, x: TensorType) -> Type:
        """(N, C, H, W) to (N, C / b / b, H * b, W * b) or back, b the block_size."""
        need_rank(op, "data", x, 4)
        order = positions(op, "layout", attrs.layout, "NCHW")
        *_, shape = _steps(op, attrs, permute(x.shape, order))
        return TensorType(inverse_permute(shape, order), x.dtype)

    def reference(attrs: AnyValue, data: np.ndarray) -> np.ndarray:
        order = positions(op, "layout", attrs.layout, "NCHW")
        x = data.transpose(order)
        parts, moved, shape = _steps(op, attrs, x.shape)
        out = x.reshape(parts).transpose(moved).reshape(shape)
        return np.ascontiguousarray(out.transpose(np.argsort(order)))

    def relax(R: AnyValue, attrs: AnyValue, data: AnyValue) -> AnyValue:
        order = positions(op, "layout", attrs.layout, "NCHW")
        x = R.permute_dims(data, list(order))
        parts, moved, shape = _steps(op, attrs, permute(shape_of(data), order))
        out = R.reshape(R.permute_dims(R.reshape(x, parts), list(moved)), shape)
        return R.permute_dims(out, inverse(order))

    define_op(
        op,
        "data",
        result_type=result_type,
        reference=reference,
        attrs=SUBPIXEL_ATTRS,
        defaults={"block_size": REQUIRED},
        fixed=fixed,
        relax=relax,
        pattern=OpPattern.INJECTIVE,
        **facts,
        doc=doc,
    )


_subpixel(
    "nn.depth_to_space",
    "Channels rearranged into blocks of rows and columns.",
    {},
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SAME,
    qat=True,
)
_subpixel("nn.space_to_depth", "Blocks of rows and columns rearranged into channels.", {"mode": ""})
