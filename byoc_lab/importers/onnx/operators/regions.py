"""Image sampling, regions of interest, and non-maximum suppression."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.relay.ir.expr import Constant, Expr


@converts("GridSample")
def grid_sample(node: Node) -> Expr:
    x = node[0]
    rank = node.rank(x)
    mode = node.attr("mode", "bilinear").removesuffix("ly")
    method = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    layout = "NCHW" if rank == 4 else "NCDHW"
    order = (0, 3, 1, 2) if rank == 4 else (0, 4, 1, 2, 3)
    return relay.image.grid_sample(
        x,
        relay.transpose(node[1], axes=order),
        method,
        layout=layout,
        padding_mode=node.attr("padding_mode", "zeros"),
        align_corners=bool(node.attr("align_corners", 0)),
    )


@converts("RoiAlign")
def roi_align(node: Node) -> Expr:
    """Relay's regions begin with the number of their image."""
    rois, batch = node[1], relay.cast(node[2], node.dtype(node[1]))
    joined = relay.concatenate([relay.expand_dims(batch, axis=1), rois], axis=1)
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    if node.attr("coordinate_transformation_mode", default) == "half_pixel":
        scale = float(node.attr("spatial_scale", 1.0))
        shift = np.array([0, 0.5, 0.5, 0.5, 0.5]) / scale
        joined = joined - Constant(shift.astype(node.dtype(rois)))
    mode = node.attr("mode", "avg")
    if mode != "avg":
        node.fail(f"mode {mode!r:.40} is not supported; Relay takes the maximum of other samples")
    return relay.vision.roi_align(
        node[0],
        joined,
        (node.attr("output_height", 1), node.attr("output_width", 1)),
        float(node.attr("spatial_scale", 1.0)),
        sample_ratio=node.attr("sampling_ratio", 0),
        mode=mode,
    )


@converts("MaxRoiPool")
def max_roi_pool(node: Node) -> Expr:
    return relay.vision.roi_pool(
        node[0], node[1], node.attr("pooled_shape"), node.attr("spatial_scale", 1.0)
    )


@converts("DeformConv")
def deform_conv(node: Node) -> Expr:
    data, weight, offset = node[0], node[1], node[2]
    if node.optional(4) is not None:
        node.fail("a mask (input 4) is not supported")
    kernel = list(node.shape(weight))[2:]
    pads = [int(p) for p in node.attr("pads", [0, 0, 0, 0])]
    if pads[:2] != pads[2:]:
        node.fail(f"padding must be the same on both sides, found {pads}")
    found = relay.nn.deformable_conv2d(
        data,
        offset,
        weight,
        strides=node.attr("strides", [1, 1]),
        padding=pads[:2],
        dilation=node.attr("dilations", [1, 1]),
        deformable_groups=node.attr("offset_group", 1),
        groups=node.attr("group", 1),
        channels=node.length(weight, 0),
        kernel_size=kernel,
    )
    return found if node.optional(3) is None else relay.nn.bias_add(found, node[3])


@converts("NonMaxSuppression")
def non_max_suppression(node: Node) -> Expr:
    """Boxes are converted to corners; the selected rows are sliced from a table of all boxes."""
    boxes, scores = node[0], node[1]
    if node.attr("center_point_box", 0):
        boxes = _corners(boxes)
    limit, overlap, least = (node.optional(i) for i in (2, 3, 4))
    found = relay.vision.all_class_non_max_suppression(
        boxes,
        scores,
        _scalar(limit, 0, "int64"),
        _scalar(overlap, 0.0, "float32"),
        _scalar(least, -np.inf, "float32"),
    )
    first, step = relay.const([0], "int64"), relay.const([1], "int64")
    return relay.strided_slice(found[0], first, found[1], step)


def _scalar(given: Expr | None, default: float, dtype: str) -> Expr:
    if given is None:
        return Constant(np.array(default, dtype))
    if isinstance(given, Constant):
        return Constant(given.numpy().reshape(()))
    return relay.reshape(given, ())


def _corners(boxes: Expr) -> Expr:
    """[x, y, width, height] around a centre as [y1, x1, y2, x2]."""
    x, y, w, h = relay.split(boxes, 4, axis=2)
    half = relay.const(0.5, "float32")
    left, top = x - w * half, y - h * half
    return relay.concatenate([top, left, y + h * half, x + w * half], axis=2)
