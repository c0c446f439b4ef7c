"""Operators on images that TensorFlow has: image.crop_and_resize, image.dilation2d.

Source: `CropAndResizeRel`, `Dilation2DRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, dtype, integers, number, string
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.layout import inverse, inverse_permute, permute, positions
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    NO_DTYPE,
    Types,
    differ,
    fail,
    need_length,
    need_one_of,
    need_rank,
    out_dtype,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import by_topi, typed
from byoc_lab.relay.op.framework.windows import (
    check_window_attrs,
    last_axes,
    padded,
    pads_of,
    spatial_result,
    static_result,
    taps,
)
from byoc_lab.relay.op.image.resize import RESIZE_ATTRS, resampled, sample_positions

CROP = "image.crop_and_resize"
CROP_METHODS = {"bilinear": "linear", "nearest_neighbor": "nearest_neighbor"}


def crop_relation(
    attrs: AnyValue, data: Type | None, boxes: Type | None, indices: Type | None
) -> Types:
    """data (N, C, H, W), boxes (B, 4) and box_indices (B,) give (B, C, *crop_size)."""
    x, b, i = tensors(CROP, "data boxes box_indices", data, boxes, indices)
    need_length(CROP, "crop_size", attrs.crop_size, 2)
    need_one_of(CROP, "method", attrs.method, CROP_METHODS)
    if x is None or b is None:
        return x, b, i, None
    need_rank(CROP, "data", x, 4)
    if len(b.shape) != 2 or differ(b.shape[1], 4):
        fail(CROP, f"boxes must have the shape (boxes, 4), found {b}")
    if i is not None and (len(i.shape) != 1 or differ(i.shape[0], b.shape[0])):
        fail(CROP, f"box_indices must have the shape ({b.shape[0]},), found {i}")
    order = positions(CROP, "layout", attrs.layout, "NCHW")
    _, c, *_ = permute(x.shape, order)
    shape = inverse_permute((b.shape[0], c, *attrs.crop_size), order)
    return x, b, i, TensorType(shape, out_dtype(attrs, x))


def crop_reference(
    attrs: AnyValue, data: np.ndarray, boxes: np.ndarray, indices: np.ndarray
) -> np.ndarray:
    """Pixels outside the image have the extrapolation value; a crop size of 1 samples the
    middle."""
    order = positions(CROP, "layout", attrs.layout, "NCHW")
    images = data.transpose(order).astype(np.result_type(data.dtype, np.float32))
    mode, (height, width) = "tf_crop_and_resize", attrs.crop_size
    options = RESIZE_ATTRS[2].make(
        method=CROP_METHODS[attrs.method],
        coordinate_transformation_mode=mode,
        rounding_method="round",
    )
    out = np.empty((len(boxes), images.shape[1], height, width), images.dtype)
    for n, (top, left, bottom, right) in enumerate(boxes):
        image = images[int(indices[n])]
        rows = sample_positions(image.shape[1], height, mode, (top, bottom))
        columns = sample_positions(image.shape[2], width, mode, (left, right))
        out[n] = resampled(resampled(image, 1, rows, options), 2, columns, options)
        out[n][:, (rows < 0) | (rows > image.shape[1] - 1)] = attrs.extrapolation_value
        out[n][:, :, (columns < 0) | (columns > image.shape[2] - 1)] = attrs.extrapolation_value
    kind = np.dtype(attrs.out_dtype or data.dtype)
    return np.ascontiguousarray(out.transpose(np.argsort(order)).astype(kind))


define_op(
    CROP,
    "data boxes box_indices",
    crop_relation,
    arithmetic=Arithmetic.OTHER,
    reference=crop_reference,
    attrs=AttrsType(
        "relay.attrs.CropAndResizeAttrs",
        (
            Attr("crop_size", integers, doc="size of the result: (height, width)"),
            Attr("layout", string, "NCHW", "layout of data and result"),
            Attr("method", string, "bilinear", ", ".join(CROP_METHODS)),
            Attr("extrapolation_value", number, 0.0, "value of pixels outside the image"),
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result; empty: the dtype of the data"),
        ),
    ),
    flops=per_element(8),
    relax=lambda R, attrs, x, boxes, indices: by_topi(
        "image.crop_and_resize",
        x,
        boxes,
        indices,
        list(attrs.crop_size),
        layout=attrs.layout,
        method=attrs.method,
        extrapolation_value=attrs.extrapolation_value,
        out_dtype=attrs.out_dtype or None,
    ),
    pattern=OpPattern.INJECTIVE,
    defaults={"layout": REQUIRED, "extrapolation_value": 0, "out_dtype": None},
    doc="Boxes (top, left, bottom, right, as fractions of the image) cropped out and resized.",
)


# image.dilation2d --------------------------------------------------------------------------------

DILATION = "image.dilation2d"


class _Window:
    """The attributes of dilation2d under the names used in framework/windows.py."""

    def __init__(self, attrs: AnyValue):
        self.strides, self.padding, self.dilation = attrs.strides, attrs.padding, attrs.dilations

    def __getitem__(self, name: str) -> AnyValue:
        return getattr(self, name)

    def get(self, name: str, default: AnyValue = None) -> AnyValue:
        return getattr(self, name, default)


def _dilation_orders(attrs: AnyValue) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return (
        positions(DILATION, "data_layout", attrs.data_layout, "NCHW"),
        positions(DILATION, "kernel_layout", attrs.kernel_layout, "IHW"),
    )


def dilation_relation(attrs: AnyValue, data: Type | None, weight: Type | None) -> Types:
    """data (N, C, H, W) and weight (C, KH, KW) give (N, C, H', W'), with H' and W' as in
    nn.conv2d."""
    x, w = tensors(DILATION, "data weight", data, weight)
    window = _Window(attrs)
    check_window_attrs(DILATION, window, 2)
    order, kernel_order = _dilation_orders(attrs)
    if x is None or w is None:
        return x, w, None
    need_rank(DILATION, "data", x, 4)
    need_rank(DILATION, "weight", w, 3)
    n, c, *size = permute(x.shape, order)
    channels, *kernel = permute(w.shape, kernel_order)
    if differ(c, channels):
        fail(DILATION, f"weight must have the {c} channels of data {x}, found {w}")
    shape = (n, c, *spatial_result(DILATION, size, kernel, window))
    return x, w, TensorType(inverse_permute(shape, order), out_dtype(attrs, x))


def dilation_reference(attrs: AnyValue, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    order, kernel_order = _dilation_orders(attrs)
    kind = np.dtype(attrs.out_dtype or data.dtype)
    x, w = data.transpose(order).astype(kind), weight.transpose(kernel_order).astype(kind)
    window = _Window(attrs)
    size = static_result(DILATION, x.shape[2:], w.shape[1:], window)
    around = padded(x, pads_of(attrs.padding, 2), 0)
    sums = [
        view + last_axes(w, at)[:, None, None]
        for at, view in taps(around, w.shape[1:], attrs.strides, attrs.dilations, size)
    ]
    return np.ascontiguousarray(np.max(sums, axis=0).transpose(np.argsort(order)))


def _dilation_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, w: AnyValue) -> AnyValue:
    order, kernel_order = _dilation_orders(attrs)
    out = by_topi(
        "image.dilation2d_nchw",
        typed(R.permute_dims(x, list(order))),
        typed(R.permute_dims(w, list(kernel_order))),
        list(attrs.strides),
        list(sum(pads_of(attrs.padding, 2), ())),
        list(attrs.dilations),
        out_dtype=attrs.out_dtype or None,
    )
    return R.permute_dims(out, inverse(order))


define_op(
    DILATION,
    "data weight",
    dilation_relation,
    reference=dilation_reference,
    attrs=AttrsType(
        "relay.attrs.Dilation2DAttrs",
        (
            Attr("strides", integers, (1, 1), "step of the window: (height, width)"),
            Attr(
                "padding",
                integers,
                (0, 0),
                "padding with zeros: (height, width), or all before, then all after",
            ),
            Attr(
                "dilations", integers, (1, 1), "distance between kernel elements: (height, width)"
            ),
            Attr("data_layout", string, "NCHW", "layout of data and result"),
            Attr("kernel_layout", string, "IHW", "layout of the weight"),
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result; empty: the dtype of the data"),
        ),
    ),
    flops=lambda attrs, args, result: (
        2 * prod(result.shape) * prod(permute(args[1].shape, _dilation_orders(attrs)[1])[1:])
    ),
    relax=_dilation_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="The maximum of data + weight over each window, per channel.",
)
