"""Boxes from anchors: the multibox operators of SSD, the proposals of R-CNN, and non-maximum
suppression as in TFLite.

Source: src/relay/op/vision/multibox_op.cc, rcnn_op.cc and nms.cc of TVM 0.16, with topi's
vision/ssd/multibox.py, rcnn/proposal.py and nms.py.
"""

from __future__ import annotations

from math import floor, prod, sqrt
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, boolean, integer, number, numbers
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    differ,
    dim,
    fail,
    need_length,
    need_rank,
    product,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import constant_of, shape_of
from byoc_lab.relay.op.vision.nms import IOU_FLOPS, far_boxes

# vision.multibox_prior ---------------------------------------------------------------------------

PRIOR = "vision.multibox_prior"


def prior_relation(attrs: AnyValue, data: Type | None) -> Types:
    """data (N, C, H, W) gives (1, H * W * (sizes + ratios - 1), 4)."""
    (x,) = tensors(PRIOR, "data", data)
    for name, values in (("sizes", attrs.sizes), ("ratios", attrs.ratios)):
        if not values:
            fail(PRIOR, f"attribute {name} must have at least one number, found none")
    need_length(PRIOR, "steps", attrs.steps, 2)
    need_length(PRIOR, "offsets", attrs.offsets, 2)
    if x is None:
        return None, None
    need_rank(PRIOR, "data", x, 4)
    each = len(attrs.sizes) + len(attrs.ratios) - 1
    return x, TensorType((1, product((*x.shape[2:], each)), 4), x.dtype)


def _priors(attrs: AnyValue, height: int, width: int) -> np.ndarray:
    """Boxes around the centre of each pixel: a square for each size, then the first size with each
    ratio except the first."""
    rows, columns = (
        (np.arange(n) + offset) * (step if step > 0 else 1 / n)
        for n, offset, step in zip((height, width), attrs.offsets, attrs.steps, strict=True)
    )
    first = attrs.sizes[0]
    halves = [(size * height / width / 2, size / 2) for size in attrs.sizes]
    halves += [
        (first * height / width * sqrt(r) / 2, first / sqrt(r) / 2) for r in attrs.ratios[1:]
    ]
    down, across = np.meshgrid(rows, columns, indexing="ij")
    middle = np.stack([across, down], axis=-1)[:, :, None]
    half = np.array(halves)
    boxes = np.concatenate([middle - half, middle + half], axis=-1).reshape(1, -1, 4)
    return boxes.clip(0, 1) if attrs.clip else boxes


define_op(
    PRIOR,
    "data",
    prior_relation,
    reference=lambda attrs, x: _priors(attrs, *x.shape[2:]).astype(x.dtype),
    attrs=AttrsType(
        "relay.attrs.MultiBoxPriorAttrs",
        (
            Attr("sizes", numbers, (1.0,), "sizes of the boxes, as fractions of the height"),
            Attr("ratios", numbers, (1.0,), "width / height of the boxes"),
            Attr(
                "steps",
                numbers,
                (-1.0, -1.0),
                "distance between pixels, down and across; -1: 1 / n",
            ),
            Attr(
                "offsets", numbers, (0.5, 0.5), "position of the middle in a pixel, down and across"
            ),
            Attr("clip", boolean, False, "whether the boxes are clipped to the image"),
        ),
    ),
    flops=lambda attrs, args, result: 4 * result.shape[1],
    relax=lambda R, attrs, x: constant_of(_priors(attrs, *shape_of(x)[2:]).astype("float32")),
    pattern=OpPattern.OPAQUE,
    doc="Anchor boxes (left, top, right, bottom, as fractions of the image) around each pixel.",
)

# vision.multibox_transform_loc -------------------------------------------------------------------

TRANSFORM = "vision.multibox_transform_loc"


def transform_relation(
    attrs: AnyValue, cls_prob: Type | None, loc_pred: Type | None, anchor: Type | None
) -> Types:
    """cls_prob (N, classes, B), loc_pred (N, 4 * B), anchor (1, B, 4) give ((N, B, 6), (N,))."""
    p, loc, a = tensors(TRANSFORM, "cls_prob loc_pred anchor", cls_prob, loc_pred, anchor)
    need_length(TRANSFORM, "variances", attrs.variances, 4)
    if p is None or loc is None or a is None:
        return p, loc, a, None
    need_rank(TRANSFORM, "cls_prob", p, 3)
    need_rank(TRANSFORM, "loc_pred", loc, 2)
    need_rank(TRANSFORM, "anchor", a, 3)
    boxes = p.shape[2]
    if differ(a.shape[1], boxes) or differ(a.shape[2], 4):
        fail(TRANSFORM, f"anchor must be (1, {boxes}, 4) for cls_prob {p}, found {a}")
    if differ(dim(lambda n: 4 * n, boxes), loc.shape[1]):
        fail(TRANSFORM, f"loc_pred must hold 4 numbers for each of {boxes} boxes, found {loc}")
    n = p.shape[0]
    fields = [TensorType((n, a.shape[1], 6), p.dtype), TensorType((n,), "int32")]
    return p, loc, a, TupleType(fields)


def _decoded(attrs: AnyValue, loc: np.ndarray, anchor: np.ndarray) -> np.ndarray:
    """The boxes for loc (N, B, 4): the shift of the centre and the log of the scaling of each
    anchor (B, 4)."""
    size, middle = anchor[:, 2:] - anchor[:, :2], (anchor[:, 2:] + anchor[:, :2]) / 2
    scaled = loc * np.array(attrs.variances, loc.dtype)
    center = scaled[..., :2] * size + middle
    half = np.exp(scaled[..., 2:]) * size / 2
    boxes = np.concatenate([center - half, center + half], axis=-1)
    return boxes.clip(0, 1) if attrs.clip else boxes


def transform_reference(
    attrs: AnyValue, prob: np.ndarray, loc: np.ndarray, anchor: np.ndarray
) -> tuple:
    """Rows after the last box are 0."""
    batch, _, count = prob.shape
    boxes = _decoded(attrs, loc.reshape(batch, count, 4), anchor[0])
    out, counts = np.zeros((batch, count, 6), prob.dtype), np.zeros(batch, "int32")
    first = 0 if attrs.keep_background else 1
    if prob.shape[1] == first:  # the background is the only class
        return out, counts
    kinds, scores = prob[:, first:].argmax(axis=1) + first, prob[:, first:].max(axis=1)
    kinds[scores < attrs.threshold] = 0
    for n in range(batch):
        kept = np.arange(count) if attrs.keep_background else np.nonzero(kinds[n])[0]
        labels = (kinds[n, kept] - first)[:, None]
        rows = np.concatenate([labels, scores[n, kept, None], boxes[n, kept]], axis=1)
        out[n, : len(kept)], counts[n] = rows, len(kept)
    return out, counts


F32_TENTH, F32_FIFTH = float(np.float32(0.1)), float(np.float32(0.2))  # as in TVM's C++

define_op(
    TRANSFORM,
    "cls_prob loc_pred anchor",
    transform_relation,
    reference=transform_reference,
    attrs=AttrsType(
        "relay.attrs.MultiBoxTransformLocAttrs",
        (
            Attr("clip", boolean, True, "whether the boxes are clipped to the image"),
            Attr("threshold", number, 0.01, "smallest probability of a class"),
            Attr(
                "variances",
                numbers,
                (F32_TENTH, F32_TENTH, F32_FIFTH, F32_FIFTH),
                "factors of the predictions: x, y, width, height",
            ),
            Attr("keep_background", boolean, False, "whether class 0, the background, is kept"),
        ),
    ),
    defaults={"variances": (0.1, 0.1, 0.2, 0.2)},
    flops=lambda attrs, args, result: (args[0].shape[1] + 20) * product(args[2].shape[:2]),
    pattern=OpPattern.OPAQUE,
    results=2,
    lacks={"relax": "apache-tvm cannot compact boxes whose number is known only at run time"},
    doc="Anchors transformed as predicted: (class, probability, left, top, right, bottom), and the "
    "number of boxes that are not background.",
)

# vision.proposal ---------------------------------------------------------------------------------

PROPOSAL = "vision.proposal"


def proposal_type(attrs: AnyValue, p: TensorType, b: TensorType, info: TensorType) -> Type:
    """cls_prob (N, 2 * A, H, W), bbox_pred (N, 4 * A, H, W), im_info (N, 3) give (N * top, 5)."""
    need_rank(PROPOSAL, "cls_prob", p, 4)
    need_rank(PROPOSAL, "bbox_pred", b, 4)
    if len(info.shape) != 2 or differ(info.shape[1], 3):
        fail(PROPOSAL, f"im_info must be (images, 3): height, width, scale; found {info}")
    anchors = len(attrs.scales) * len(attrs.ratios)
    for name, ty, each in (("cls_prob", p, 2), ("bbox_pred", b, 4)):
        if differ(ty.shape[1], each * anchors):
            kinds = f"{len(attrs.scales)} scales and {len(attrs.ratios)} ratios"
            fail(PROPOSAL, f"{name} must have {each * anchors} channels for {kinds}, found {ty}")
    rows = product((p.shape[0], attrs.rpn_post_nms_top_n))
    return TensorType((rows, 5), p.dtype)


def _anchor(ratio: float, scale: float, base: float) -> tuple[float, float, float, float]:
    """The anchor of the first pixel; its side lengths are rounded before scaling."""
    middle = (base - 1) / 2
    width = floor(sqrt(floor(base * base / ratio)) + 0.5) * scale
    height = floor(width / scale * ratio + 0.5) * scale
    across, down = (width - 1) / 2, (height - 1) / 2
    return middle - across, middle - down, middle + across, middle + down


def _proposed(
    attrs: AnyValue, scores: np.ndarray, deltas: np.ndarray, info: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """scores (A, H, W), deltas (A, 4, H, W) -> boxes (H * W * A, 4) and their scores.

    Boxes that are too small or outside the image get the score -1; small ones are enlarged.
    """
    _, height, width = scores.shape
    stride = attrs.feature_stride
    base = [_anchor(r, s, stride) for r in attrs.ratios for s in attrs.scales]
    down, across = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    shifts = stride * np.stack([across, down, across, down], axis=-1)
    boxes = (shifts[:, :, None] + np.array(base)).astype(scores.dtype)
    delta = deltas.transpose(2, 3, 0, 1)
    if attrs.iou_loss:
        boxes = boxes + delta
    else:
        size = boxes[..., 2:] - boxes[..., :2] + 1
        center = boxes[..., :2] + (size - 1) / 2 + delta[..., :2] * size
        half = (np.exp(delta[..., 2:]) * size - 1) / 2
        boxes = np.concatenate([center - half, center + half], axis=-1)
    limit = info[[1, 0, 1, 0]] - 1
    boxes = np.maximum(np.minimum(boxes, limit), 0)
    minimum = info[2] * attrs.rpn_min_size
    small = (boxes[..., 2:] - boxes[..., :2] + 1 < minimum).any(axis=-1)
    boxes[small] += np.array([-1, -1, 1, 1], boxes.dtype) * minimum / 2
    real = (info[:2] / stride).astype(int)
    outside = ((down >= real[0]) | (across >= real[1]))[:, :, None]
    scored = np.where(outside | small, -1, scores.transpose(1, 2, 0))
    return boxes.reshape(-1, 4), scored.ravel()


def proposal_reference(
    attrs: AnyValue, prob: np.ndarray, delta: np.ndarray, info: np.ndarray
) -> np.ndarray:
    """If too few boxes remain, they are repeated from the best on."""
    batch, channels, height, width = prob.shape
    count = attrs.rpn_post_nms_top_n
    out = np.zeros((batch, count, 5), prob.dtype)
    deltas = delta.reshape(batch, channels // 2, 4, height, width)
    for n in range(batch):
        boxes, scores = _proposed(attrs, prob[n, channels // 2 :], deltas[n], info[n])
        order = np.argsort(-scores, kind="stable")
        if attrs.rpn_pre_nms_top_n > 0:
            order = order[: attrs.rpn_pre_nms_top_n]
        kept = far_boxes(boxes, order, attrs.threshold, extra=1)
        out[n, :, 0], out[n, :, 1:] = n, boxes[np.resize(kept, count)]
    return out.reshape(-1, 5)


PROPOSAL_ATTRS = AttrsType(
    "relay.attrs.ProposalAttrs",
    (
        Attr("scales", numbers, (4.0, 8.0, 16.0, 32.0), "sizes of the anchors, in feature_strides"),
        Attr("ratios", numbers, (0.5, 1.0, 2.0), "height / width of the anchors"),
        Attr("feature_stride", integer, 16, "pixels of the image per pixel of data"),
        Attr(
            "threshold", number, 0.7, "largest intersection over union of two boxes that are kept"
        ),
        Attr("rpn_pre_nms_top_n", integer, 6000, "number of best boxes considered; -1: all"),
        Attr("rpn_post_nms_top_n", integer, 300, "number of boxes per image"),
        Attr(
            "rpn_min_size", integer, 16, "smallest width and height, times the scale of the image"
        ),
        Attr("iou_loss", boolean, False, "whether predictions are offsets of the corners"),
    ),
)

define_op(
    PROPOSAL,
    "cls_prob bbox_pred im_info",
    result_type=proposal_type,
    reference=proposal_reference,
    attrs=PROPOSAL_ATTRS,
    attrs_key="",
    defaults=dict.fromkeys(PROPOSAL_ATTRS.by_name, REQUIRED),
    flops=lambda attrs, args, result: (
        IOU_FLOPS * args[0].shape[0] * (prod(args[0].shape[1:]) // 2) ** 2
    ),
    pattern=OpPattern.OPAQUE,
    lacks={"relax": "apache-tvm has no region proposals"},
    doc="Regions (image, left, top, right, bottom) proposed by a region proposal network.",
)

# vision.regular_non_max_suppression --------------------------------------------------------------

REGULAR = "vision.regular_non_max_suppression"


def regular_type(attrs: AnyValue, b: TensorType, s: TensorType) -> Type:
    """boxes (N, B, 4) and scores (N, B, classes) give ((N, M, 4), (N, M), (N, M), (N,))."""
    need_rank(REGULAR, "boxes", b, 3)
    need_rank(REGULAR, "scores", s, 3)
    (n, count, ends), most = b.shape, attrs.max_detections
    if differ(ends, 4):
        fail(REGULAR, f"boxes must have 4 numbers each, found {b}")
    if differ(s.shape[0], n) or differ(s.shape[1], count):
        fail(REGULAR, f"scores must be ({n}, {count}, classes) for boxes {b}, found {s}")
    each = TensorType((n, most), b.dtype)
    fields = [TensorType((n, most, 4), b.dtype), each, each, TensorType((n,), "int32")]
    return TupleType(fields)


def regular_reference(attrs: AnyValue, boxes: np.ndarray, scores: np.ndarray) -> tuple:
    """Rows after the last box are 0."""
    batch, _, kinds = scores.shape
    most, background = attrs.max_detections, kinds - attrs.num_classes
    chosen_boxes = np.zeros((batch, most, 4), boxes.dtype)
    classes, best = np.zeros((batch, most), boxes.dtype), np.zeros((batch, most), boxes.dtype)
    counts = np.zeros(batch, "int32")
    for n in range(batch):
        found: list[tuple[int, int]] = []  # (box, class), by descending score
        for c in range(attrs.num_classes):
            own = scores[n, :, c + background]
            (order,) = np.nonzero(own >= attrs.score_threshold)
            order = order[np.argsort(-own[order], kind="stable")]
            limit = attrs.max_detections_per_class
            chosen = far_boxes(boxes[n], order, attrs.iou_threshold, limit)
            found += [(i, c) for i in chosen]
            found.sort(key=lambda pair: -scores[n, pair[0], pair[1] + background])
            found = found[:most]
        counts[n] = len(found)
        for row, (i, c) in enumerate(found):
            chosen_boxes[n, row], classes[n, row] = boxes[n, i], c
            best[n, row] = scores[n, i, c + background]
    return chosen_boxes, classes, best, counts


define_op(
    REGULAR,
    "boxes scores",
    result_type=regular_type,
    arithmetic=Arithmetic.OTHER,
    reference=regular_reference,
    attrs=AttrsType(
        "relay.attrs.RegularNonMaximumSuppressionAttrs",
        (
            Attr("max_detections_per_class", integer, doc="largest number of boxes per class"),
            Attr("max_detections", integer, doc="largest number of boxes"),
            Attr("num_classes", integer, doc="number of classes without the background"),
            Attr(
                "iou_threshold",
                number,
                doc="largest intersection over union of two boxes that are kept",
            ),
            Attr("score_threshold", number, doc="smallest score"),
        ),
    ),
    attrs_key="",
    flops=lambda attrs, args, result: (
        IOU_FLOPS * attrs.num_classes * args[0].shape[0] * args[0].shape[1] ** 2
    ),
    pattern=OpPattern.OPAQUE,
    results=4,
    lacks={"relax": "apache-tvm has no non-maximum suppression as in TFLite"},
    doc="The best boxes after non-maximum suppression within each class, as in TFLite: boxes, "
    "classes, scores and their number.",
)
