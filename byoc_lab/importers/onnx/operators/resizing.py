"""Resizing, sampling and regions of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.op.image.resize import nearest_index, sample_positions

METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


@converts("Upsample")
def upsample(node: Node) -> Expr:
    """Nearest neighbours or linear, in the coordinates that PyTorch calls asymmetric."""
    if node.opset >= 9:
        sizes = _scaled(node, 1)
    else:
        scales = [float(s) for s in node.attr("scales")]
        if len(scales) != node.rank(node[0]):
            node.fail(f"scales must have {node.rank(node[0])} numbers, found {len(scales)}")
        sizes = [
            length if scale == 1 else int(np.floor(node.length(node[0], axis) * scale))
            for axis, (length, scale) in enumerate(zip(_lengths(node), scales, strict=True))
        ]
    mode = node.attr("mode", "nearest")
    return _resized(node, sizes, mode, "asymmetric", "floor", -0.75)


@converts("Resize")
def resize(node: Node) -> Expr:
    """Only the spatial dimensions of NCW, NCHW or NCDHW data change their lengths."""
    mode = node.attr("mode", "nearest")
    if mode not in METHODS:
        node.fail(f"mode {mode!r:.40} does not exist")
    if node.attr("antialias", 0):
        node.fail("antialias is not supported; export the model without it")
    if node.opset < 11:
        return _resized(node, _scaled(node, 1), mode, "asymmetric", "floor", -0.75)
    coordinates = node.attr("coordinate_transformation_mode", "half_pixel")
    if coordinates == "half_pixel_symmetric":
        node.fail("coordinates 'half_pixel_symmetric' are not supported")
    nearest = node.attr("nearest_mode", "round_prefer_floor")
    sizes = _sizes(node)
    return _resized(
        node,
        sizes,
        mode,
        coordinates,
        nearest,
        node.attr("cubic_coeff_a", -0.75),
        int(node.attr("exclude_outside", 0)),
    )


def _sizes(node: Node) -> list[int] | Expr:
    """The wanted lengths of all dimensions, or an expression of them."""
    if node.optional(3) is None:
        return _scaled(node, 2)
    have = _lengths(node)
    axes = [node.axis(a, len(have)) for a in node.attr("axes", list(range(len(have))))]
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    wanted = node.value(3)
    if wanted is None:
        if axes != list(range(len(have))) or policy != "stretch":
            node.fail("sizes (input 3) with axes or a policy must be a constant")
        return relay.cast(node[3], "int64")
    sizes = list(have)
    for axis, size in zip(axes, wanted, strict=True):
        sizes[axis] = int(size)
    if policy != "stretch":
        lengths = {a: node.length(node[0], a) for a in axes}
        ratios = [sizes[a] / length for a, length in lengths.items()]
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        for axis, length in lengths.items():
            sizes[axis] = int(np.floor(ratio * length + 0.5))
    return sizes


def _lengths(node: Node) -> list[Any]:
    """The lengths of the data; those of the batch and the channels may be unknown."""
    return list(node.type_of(node[0]).shape)


def _scaled(node: Node, index: int) -> list[int]:
    have = _lengths(node)
    scales = node.value(index)
    if scales is None:
        node.fail(f"scales (input {index}) are computed at run time; only constants are supported")
    axes = [node.axis(a, len(have)) for a in node.attr("axes", list(range(len(have))))]
    sizes = list(have)
    for axis, scale in zip(axes, scales.ravel(), strict=True):
        if scale == 1:
            continue
        length = node.length(node[0], axis)
        scaled = float(np.float32(length) * np.float32(scale))  # as ONNX Runtime computes it
        sizes[axis] = int(np.floor(scaled))
        if scaled != sizes[axis]:
            node.fail(
                f"scale {float(scale):g} makes {scaled:g} of a length of {length}; only whole "
                f"lengths are supported, because Relay resizes by the ratio of the lengths"
            )
    return sizes


def _resized(
    node: Node,
    sizes: Sequence[int] | Expr,
    mode: str,
    coordinates: str,
    nearest: str,
    cubic: float,
    excluded: int = 0,
) -> Expr:
    x = node[0]
    have = _lengths(node)
    rank = len(have) - 2
    if rank not in LAYOUTS:
        node.fail(f"data must have 3, 4 or 5 dimensions, found {len(have)}")
    if isinstance(sizes, Expr):
        if rank != 2:
            node.fail("sizes that come at run time are supported for images (4 dimensions)")
        wanted: Any = relay.strided_slice(sizes, [2], [4])
        if (mode, coordinates) == ("nearest", "asymmetric") and nearest != "floor":
            node.fail(
                f"nearest_mode {nearest!r} of asymmetric coordinates needs constant sizes: Relay "
                f"may take other pixels"
            )
    else:
        if any(n is not m and n != m for n, m in zip(sizes[:2], have[:2], strict=True)):
            node.fail(f"only spatial dimensions can be resized, found {have} to {list(sizes)}")
        wanted = list(sizes[2:])
        if rank == 2 and (mode, coordinates) == ("nearest", "asymmetric"):
            spatial = [node.length(x, a) for a in (2, 3)]
            _check_pixels(node, spatial, wanted, nearest)
    options = {
        "layout": LAYOUTS[rank],
        "method": METHODS[mode],
        "coordinate_transformation_mode": coordinates,
        "rounding_method": nearest,
        "cubic_alpha": cubic,
        "cubic_exclude": excluded,
        "extrapolation_value": node.attr("extrapolation_value", 0.0),
    }
    roi = node.value(1) if node.opset >= 11 and node.optional(1) is not None else None
    if coordinates == "tf_crop_and_resize":
        if roi is None:
            node.fail("the region (input 1) must be a constant for tf_crop_and_resize")
        options["roi"] = [float(r) for r in np.concatenate([roi[2 : 2 + rank], roi[-rank:]])]
    return getattr(relay.image, f"resize{rank}d")(x, wanted, **options)


def _check_pixels(node: Node, have: Sequence[int], wanted: Sequence[int], nearest: str) -> None:
    """Relay finds the pixel by integer division when images grow by a whole factor."""
    for length, target in zip(have, wanted, strict=True):
        if target % length:
            continue
        positions = sample_positions(length, target, "asymmetric", (0.0, 0.0))
        pixels = nearest_index(positions, nearest, "asymmetric").clip(0, length - 1)
        if (pixels != np.arange(target) // (target // length)).any():
            node.fail(
                f"Relay takes other pixels than nearest_mode {nearest!r}; 'floor' is supported"
            )


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
    """Rois come with the number of their image in front."""
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
    """Boxes as corners; the rows that were chosen are cut from a table of all."""
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
