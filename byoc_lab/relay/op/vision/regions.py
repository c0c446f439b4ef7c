"""Regions of an image as tensors of one size: roi_align, roi_pool.

Source: src/relay/op/vision/rcnn_op.cc of TVM 0.16, with topi's vision/rcnn/roi_align.py
and roi_pool.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product as pairs
from math import ceil, prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, integer, integers, number, string
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.layout import inverse, inverse_permute
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    fail,
    need_length,
    need_one_of,
    need_positive,
    need_rank,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import by_topi, typed

ALIGN, POOL = "vision.roi_align", "vision.roi_pool"
MODES: dict[str, Callable[..., np.ndarray]] = {"avg": np.mean, "max": np.max}
_ORDERS = {"NCHW": (0, 1, 2, 3), "NHWC": (0, 3, 1, 2)}  # the permutation to N, C, H, W


def bilinear(image: np.ndarray, down: np.ndarray, across: np.ndarray) -> np.ndarray:
    """`image` (C, H, W) interpolated at positions of any shape: (C, *shape).

    Pixels outside the image count as 0.
    """
    height, width = image.shape[1:]
    top, left = np.floor(down).astype(int), np.floor(across).astype(int)
    out = np.zeros((len(image), *down.shape), np.result_type(image.dtype, down.dtype))
    for row, column in pairs((top, top + 1), (left, left + 1)):
        weight = (1 - np.abs(down - row)) * (1 - np.abs(across - column))
        exists = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        out += image[:, row.clip(0, height - 1), column.clip(0, width - 1)] * (weight * exists)
    return out


def regions_relation(op: str, attrs: AnyValue, data: Type | None, rois: Type | None) -> Types:
    """data (N, C, H, W) and rois (R, 5) give (R, C, *pooled_size); NHWC likewise."""
    x, r = tensors(op, "data rois", data, rois)
    need_length(op, "pooled_size", attrs.pooled_size, 2)
    need_positive(op, attrs, "pooled_size")
    need_one_of(op, "layout", attrs.layout, _ORDERS)
    need_one_of(op, "mode", attrs.get("mode", "avg"), MODES)
    if x is None or r is None:
        return x, r, None
    need_rank(op, "data", x, 4)
    need_rank(op, "rois", r, 2)
    if not isinstance(r.shape[1], Unknown) and r.shape[1] != 5:
        fail(op, f"rois must be (regions, 5): image, left, top, right, bottom; found {r}")
    order = _ORDERS[attrs.layout]
    channels = x.shape[order[1]]
    return (
        x,
        r,
        TensorType(inverse_permute((r.shape[0], channels, *attrs.pooled_size), order), x.dtype),
    )


def _by_region(attrs: AnyValue, data: np.ndarray, rois: np.ndarray, pooled: AnyValue) -> np.ndarray:
    """The results of `pooled(attrs, image (C, H, W), region (4,))` for every region, in the layout
    of the data."""
    order = _ORDERS[attrs.layout]
    images = data.transpose(order)
    out = np.empty((len(rois), images.shape[1], *attrs.pooled_size), data.dtype)
    for n, (index, *region) in enumerate(rois):
        out[n] = pooled(attrs, images[int(index)], region)
    return np.ascontiguousarray(out.transpose(np.argsort(order)))


def _aligned(attrs: AnyValue, image: np.ndarray, region: list[float]) -> np.ndarray:
    """Interpolates samples evenly spread over each bin; a region is at least one pixel wide."""
    left, top, right, bottom = (v * attrs.spatial_scale for v in region)
    ends = [(top, bottom, image.shape[1]), (left, right, image.shape[2])]
    samples_of = []
    for (low, high, size), bins in zip(ends, attrs.pooled_size, strict=True):
        each = max(high - low, 1.0) / bins
        samples = attrs.sample_ratio if attrs.sample_ratio > 0 else ceil(each)
        steps = (np.arange(samples) + 0.5) / samples
        at = low + (np.arange(bins)[:, None] + steps) * each  # (bins, samples)
        samples_of.append((at.clip(0, size - 1), (at >= -1) & (at <= size)))
    (down, in_height), (across, in_width) = samples_of
    grid = np.broadcast_arrays(down[:, None, :, None], across[None, :, None, :])
    inside = in_height[:, None, :, None] & in_width[None, :, None, :]
    values = bilinear(image, *(g.astype(image.dtype) for g in grid)) * inside
    return MODES[attrs.mode](values, axis=(-2, -1))


def _pooled(attrs: AnyValue, image: np.ndarray, region: list[float]) -> np.ndarray:
    """The maximum of each bin, with its ends rounded outwards; 0 for an empty bin."""
    left, top, right, bottom = (_rounded(v * attrs.spatial_scale) for v in region)
    slices = []
    for low, high, size, bins in (
        (top, bottom, image.shape[1], attrs.pooled_size[0]),
        (left, right, image.shape[2], attrs.pooled_size[1]),
    ):
        each, at = max(high - low + 1, 1) / bins, np.arange(bins)
        # As in TVM, 1e-5 prevents that rounding enlarges a bin by a pixel.
        first = np.floor(at * each + 1e-5).astype(int) + low
        last = np.ceil((at + 1) * each - 1e-5).astype(int) + low
        slices.append(
            [slice(*b) for b in zip(first.clip(0, size), last.clip(0, size), strict=True)]
        )
    out = np.zeros((len(image), *attrs.pooled_size), image.dtype)
    for (i, rows), (j, columns) in pairs(*(enumerate(s) for s in slices)):
        part = image[:, rows, columns]
        if part.size:
            out[:, i, j] = part.max(axis=(1, 2))
    return out


def _rounded(value: float) -> int:
    """Positions rounded to the nearest integer, halves away from zero."""
    return int(np.trunc(value + np.copysign(0.5, value)))


def _align_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, rois: AnyValue) -> AnyValue:
    name = f"{ALIGN}_{attrs.layout.lower()}"
    size, scale = list(attrs.pooled_size), attrs.spatial_scale
    return by_topi(name, x, rois, size, scale, attrs.mode, attrs.sample_ratio)


def _pool_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, rois: AnyValue) -> AnyValue:
    order = _ORDERS[attrs.layout]
    images = x if attrs.layout == "NCHW" else typed(R.permute_dims(x, list(order)))
    size, scale = list(attrs.pooled_size), attrs.spatial_scale
    out = by_topi(f"{POOL}_nchw", images, rois, size, scale)
    return out if images is x else R.permute_dims(out, inverse(order))


POOLED_SIZE = Attr("pooled_size", integers, doc="size of the result: (height, width)")
SCALE = Attr("spatial_scale", number, doc="pixels of data per unit of the coordinates of regions")
LAYOUT = Attr("layout", string, "NCHW", "layout of data and result: NCHW or NHWC")

define_op(
    ALIGN,
    "data rois",
    partial(regions_relation, ALIGN),
    reference=lambda attrs, x, rois: _by_region(attrs, x, rois, _aligned),
    attrs=AttrsType(
        "relay.attrs.ROIAlignAttrs",
        (
            POOLED_SIZE,
            SCALE,
            Attr("sample_ratio", integer, -1, "samples per side of a bin; -1: one per pixel"),
            LAYOUT,
            Attr("mode", string, "avg", "how the samples of a bin are combined: avg or max"),
        ),
    ),
    attrs_key="",
    flops=lambda attrs, args, result: 10 * prod(result.shape) * max(attrs.sample_ratio, 1) ** 2,
    relax=_align_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="Each region (image, left, top, right, bottom) of data divided into bins of samples.",
)
define_op(
    POOL,
    "data rois",
    partial(regions_relation, POOL),
    arithmetic=Arithmetic.OTHER,
    reference=lambda attrs, x, rois: _by_region(attrs, x, rois, _pooled),
    attrs=AttrsType("relay.attrs.ROIPoolAttrs", (POOLED_SIZE, SCALE, LAYOUT)),
    attrs_key="",
    flops=per_element(1),
    relax=_pool_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="Each region (image, left, top, right, bottom) of data divided into bins: their maxima.",
)
