"""Non-maximum suppression: vision.get_valid_counts, non_max_suppression,
all_class_non_max_suppression.

A result has a row for every box; if fewer boxes are chosen, the remaining rows have a fill value.

Source: src/relay/op/vision/nms.cc and topi/vision/nms.py of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, boolean, integer, string
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    differ,
    fail,
    need_one_of,
    need_rank,
    product,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import (
    by_topi,
    constant_value,
    need_dtype,
    shape_of,
    typed,
    zeros_if_empty,
)

IOU_FLOPS = 15  # operations per comparison of two boxes


def overlaps(box: np.ndarray, others: np.ndarray, extra: float = 0) -> np.ndarray:
    """Intersection over union of a box (4,) (low corner, high corner) with each of `others` (N, 4).

    0 for a box without area. `extra` is added to each side: 1 if corners are pixels.
    """
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = (high - low + extra).clip(0).prod(axis=1)
    own, their = ((b[..., 2:] - b[..., :2] + extra).prod(axis=-1) for b in (box, others))
    sides = others[:, 2:] - others[:, :2] + extra
    solid = (sides > 0).all(axis=1) & bool(np.all(box[2:] - box[:2] + extra > 0))
    return np.divide(common, own + their - common, out=np.zeros_like(common), where=solid)


def far_boxes(
    boxes: np.ndarray,
    order: np.ndarray,
    threshold: float,
    limit: int | None = None,
    extra: float = 0,
) -> list[int]:
    """The indices in `order` (best first), without boxes that overlap a better box by more than
    `threshold`; at most `limit` indices. `extra` is as in `overlaps`."""
    kept: list[int] = []
    while len(order) and (limit is None or len(kept) < limit):
        best, rest = order[0], order[1:]
        kept.append(best)
        order = rest[overlaps(boxes[best], boxes[rest], extra) <= threshold]
    return kept


def corners(boxes: np.ndarray) -> np.ndarray:
    """Boxes (N, 4), given by any two opposite corners, converted to low corner and high corner."""
    ends = boxes.reshape(-1, 2, 2)
    return np.concatenate([ends.min(axis=1), ends.max(axis=1)], axis=1)


def _quadratic(attrs: AnyValue, args: AnyValue, result: AnyValue) -> int:
    """An upper bound of the cost: each box is compared with every other box."""
    batch, boxes, _ = args[0].shape
    return IOU_FLOPS * batch * boxes * boxes


# vision.get_valid_counts -------------------------------------------------------------------------

COUNTS = "vision.get_valid_counts"


def _nothing(value: AnyValue) -> None:
    """The kind of an attribute whose value is always None."""
    if value is not None:
        raise TypeError


def counts_relation(attrs: AnyValue, data: Type | None, score_threshold: Type | None) -> Types:
    """data (N, boxes, fields) gives ((N,) int32, type of data, (N, boxes) int32)."""
    x, threshold = tensors(COUNTS, "data score_threshold", data, score_threshold)
    if x is None:
        return x, threshold, None
    need_rank(COUNTS, "data", x, 3)
    n, boxes, _ = x.shape
    fields = [TensorType((n,), "int32"), x, TensorType((n, boxes), "int32")]
    return x, threshold, TupleType(fields)


def counts_reference(attrs: AnyValue, x: np.ndarray, threshold: np.ndarray) -> tuple:
    rows, indices = np.full_like(x, -1), np.full(x.shape[:2], -1, "int32")
    valid = x[:, :, attrs.score_index] > threshold
    if attrs.id_index >= 0:
        valid &= x[:, :, attrs.id_index] >= 0
    for n, chosen in enumerate(valid):
        (where,) = np.nonzero(chosen)
        rows[n, : len(where)], indices[n, : len(where)] = x[n, where], where
    return valid.sum(axis=1).astype("int32"), rows, indices


define_op(
    COUNTS,
    "data score_threshold",
    counts_relation,
    arithmetic=Arithmetic.EXACT,
    reference=counts_reference,
    attrs=AttrsType(
        "relay.attrs.GetValidCountsAttrs",
        (
            Attr("score_threshold", _nothing, doc="always None: the threshold is an argument"),
            Attr("id_index", integer, 0, "field of a box that is its class; -1: none"),
            Attr("score_index", integer, 1, "field of a box that is its score"),
        ),
    ),
    attrs_key="",
    flops=lambda attrs, args, result: 2 * args[0].shape[0] * args[0].shape[1],
    relax=lambda R, attrs, x, threshold: by_topi(
        COUNTS,
        x,
        constant_value(threshold, COUNTS, "score_threshold"),
        attrs.id_index,
        attrs.score_index,
    ),
    pattern=OpPattern.OPAQUE,
    results=3,
    fixed={"score_threshold": None},
    constants={"score_threshold": "float32"},
    doc="The number of boxes with a score above the threshold, those boxes first (then -1), and "
    "their indices.",
)


# vision.non_max_suppression ----------------------------------------------------------------------

NMS = "vision.non_max_suppression"


def nms_relation(
    attrs: AnyValue,
    data: Type | None,
    valid_count: Type | None,
    indices: Type | None,
    max_output_size: Type | None,
    iou_threshold: Type | None,
) -> Types:
    """data (N, boxes, fields) and valid_count (N,) give ((N, boxes), (N, 1)) int32, or type of
    data."""
    names = "data valid_count indices max_output_size iou_threshold"
    types = tensors(NMS, names, data, valid_count, indices, max_output_size, iou_threshold)
    x, count, *_ = types
    if x is None or count is None:
        return (*types, None)
    need_rank(NMS, "data", x, 3)
    need_rank(NMS, "valid_count", count, 1)
    n, boxes, _ = x.shape
    chosen = TupleType([TensorType((n, boxes), "int32"), TensorType((n, 1), "int32")])
    return (*types, chosen if attrs.return_indices else x)


def _suppressed(
    attrs: AnyValue, boxes: np.ndarray, count: int, limit: int, threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """The boxes in descending order of score, and their indices in the data; -1 elsewhere."""
    rows, chosen = np.full_like(boxes, -1), np.full(len(boxes), -1, "int32")
    if threshold <= 0:
        rows[:count], chosen[:count] = boxes[:count], np.arange(count)
        return rows, chosen
    scores, kinds = boxes[:, attrs.score_index], boxes[:, attrs.id_index]
    ends = corners(boxes[:, attrs.coord_start : attrs.coord_start + 4])
    order = np.argsort(-scores[:count], kind="stable")
    kept: list[int] = []
    for row, n in enumerate(order[: attrs.top_k] if attrs.top_k > 0 else order):
        if len(kept) == limit:
            break
        if scores[n] > 0:  # a box without a positive score is kept and suppresses nothing
            rivals = np.array(kept, int)
            if attrs.id_index >= 0:
                rivals = rivals[kinds[rivals] >= 0]
                rivals = rivals if attrs.force_suppress else rivals[kinds[rivals] == kinds[n]]
            if np.any(overlaps(ends[n], ends[rivals]) >= threshold):
                continue
            kept.append(n)
        rows[row], chosen[row] = boxes[n], n
    return rows, chosen


def _valid_first(values: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """The valid values first, then -1."""
    out = np.full_like(values, -1)
    out[: valid.sum()] = values[valid]
    return out


def nms_reference(
    attrs: AnyValue,
    data: np.ndarray,
    valid_count: np.ndarray,
    indices: np.ndarray,
    max_output_size: np.ndarray,
    iou_threshold: np.ndarray,
) -> AnyValue:
    rows, chosen = np.empty_like(data), np.empty(data.shape[:2], "int32")
    limit, threshold = int(max_output_size), float(iou_threshold)
    for n, count in enumerate(valid_count):
        rows[n], chosen[n] = _suppressed(attrs, data[n], int(count), limit, threshold)
        if attrs.return_indices:
            valid = chosen[n] >= 0
            chosen[n][valid] = indices[n][chosen[n][valid]]
            chosen[n] = _valid_first(chosen[n], chosen[n] >= 0)
        elif attrs.invalid_to_bottom:
            rows[n] = _valid_first(rows[n], rows[n][:, 0] >= 0)
    if attrs.return_indices:
        return chosen, (chosen >= 0).sum(axis=1, keepdims=True).astype("int32")
    return rows


define_op(
    NMS,
    "data valid_count indices max_output_size iou_threshold",
    nms_relation,
    arithmetic=Arithmetic.OTHER,
    reference=nms_reference,
    attrs=AttrsType(
        "relay.attrs.NonMaximumSuppressionAttrs",
        (
            Attr(
                "force_suppress",
                boolean,
                False,
                "whether boxes also suppress boxes of other classes",
            ),
            Attr("top_k", integer, -1, "number of best boxes considered; -1: all"),
            Attr(
                "coord_start",
                integer,
                2,
                "first of the four fields of a box that are its coordinates",
            ),
            Attr("score_index", integer, 1, "field of a box that is its score"),
            Attr("id_index", integer, 0, "field of a box that is its class; -1: none"),
            Attr("return_indices", boolean, True, "whether the result is indices, not boxes"),
            Attr("invalid_to_bottom", boolean, False, "whether the chosen boxes come first"),
        ),
    ),
    attrs_key="",
    flops=_quadratic,
    pattern=OpPattern.OPAQUE,
    lacks={
        "relax": "apache-tvm's operator drops boxes without a positive score, which TVM 0.16 keeps"
    },
    results=lambda call: 2 if call.attrs.return_indices else None,
    parameters="data valid_count indices max_output_size iou_threshold force_suppress top_k "
    "coord_start score_index id_index return_indices invalid_to_bottom",
    defaults={"max_output_size": -1, "iou_threshold": 0.5},
    constants={"max_output_size": "int32", "iou_threshold": "float32"},
    doc="The best-scored box among boxes that overlap by iou_threshold or more; the others are -1.",
)

# vision.all_class_non_max_suppression ------------------------------------------------------------

ALL_CLASS = "vision.all_class_non_max_suppression"
FORMATS = ("onnx", "tensorflow")


def all_class_relation(
    attrs: AnyValue, boxes: Type | None, scores: Type | None, *limits: Type | None
) -> Types:
    """boxes (N, B, 4) and scores (N, C, B) give ((N * C * B, 3), (1,)) int64 for "onnx".

    For "tensorflow" ((N, C * B, 2) int64, (N, C * B) float32, (N,) int64).
    """
    b, s = tensors(ALL_CLASS, "boxes scores", boxes, scores)
    need_one_of(ALL_CLASS, "output_format", attrs.output_format, FORMATS)
    if b is None or s is None:
        return (b, s, *limits, None)
    need_rank(ALL_CLASS, "boxes", b, 3)
    need_rank(ALL_CLASS, "scores", s, 3)
    batch, count, ends = b.shape
    classes = s.shape[1]
    if differ(ends, 4):
        fail(ALL_CLASS, f"boxes must have 4 numbers each, found {b}")
    if differ(s.shape[0], batch) or differ(s.shape[2], count):
        fail(ALL_CLASS, f"scores must be ({batch}, classes, {count}) for boxes {b}, found {s}")
    if attrs.output_format == "onnx":
        rows = product((batch, classes, count))
        result = [TensorType((rows, 3), "int64"), TensorType((1,), "int64")]
    else:
        rows = product((classes, count))
        result = [
            TensorType((batch, rows, 2), "int64"),
            TensorType((batch, rows), "float32"),
            TensorType((batch,), "int64"),
        ]
    return (b, s, *limits, TupleType(result))


def _selected(
    ends: np.ndarray, scores: np.ndarray, limit: int, threshold: float, least: float
) -> list[int]:
    """The indices of the boxes chosen for one class, in descending order of score.

    A box without a positive score suppresses no other box."""
    order = [int(n) for n in np.argsort(-scores, kind="stable") if scores[n] > least]
    found: list[int] = []
    while order and threshold > 0 and (limit <= 0 or len(found) < limit):
        best, *rest = order
        found.append(best)
        far = overlaps(ends[best], ends[rest]) < threshold
        order = [n for n, apart in zip(rest, far, strict=True) if apart or scores[n] <= 0]
    return found


def all_class_reference(
    attrs: AnyValue,
    boxes: np.ndarray,
    scores: np.ndarray,
    max_output_boxes_per_class: np.ndarray,
    iou_threshold: np.ndarray,
    score_threshold: np.ndarray,
) -> tuple:
    """The NumPy reference; rows after the chosen boxes are 0."""
    batch, classes, count = scores.shape
    limits = int(max_output_boxes_per_class), float(iou_threshold), float(score_threshold)
    found: list[list[tuple[int, int, int]]] = [[] for _ in range(batch)]
    for n, c in np.ndindex(batch, classes):
        chosen = _selected(corners(boxes[n]), scores[n, c], *limits)
        found[n] += [(n, c, i) for i in chosen]
    if attrs.output_format == "onnx":
        rows = [row for rows in found for row in rows]
        indices = np.zeros((batch * classes * count, 3), "int64")
        indices[: len(rows)] = np.array(rows, "int64").reshape(-1, 3)
        return indices, np.array([len(rows)])
    pairs = np.zeros((batch, classes * count, 2), "int64")
    wide = "float64" if scores.dtype == "float64" else "float32"
    best = np.zeros((batch, classes * count), wide)
    for n, rows in enumerate(found):
        for row, (_, c, i) in enumerate(rows):
            pairs[n, row], best[n, row] = (c, i), scores[n, c, i]
    return pairs, best, np.array([len(rows) for rows in found], "int64")


def _all_class_relax(
    R: AnyValue,
    attrs: AnyValue,
    boxes: AnyValue,
    scores: AnyValue,
    max_output_boxes_per_class: AnyValue,
    iou_threshold: AnyValue,
    score_threshold: AnyValue,
) -> AnyValue:
    """TOPI has no limit for "all boxes", so the number of boxes is used. In the ONNX format, TOPI's
    result has as many rows per class as the limit, Relay's result one row per box: the remaining
    rows are zeros."""
    zeros = zeros_if_empty(R, all_class_relation, attrs, boxes, scores)
    if zeros is not None:
        return zeros
    need_dtype(ALL_CLASS, scores, ("float16", "float32", "int32", "int64"))
    batch, classes, count = shape_of(scores)
    limit = int(constant_value(max_output_boxes_per_class, ALL_CLASS, "max_output_boxes_per_class"))
    limit = limit if 0 < limit < count else count
    iou = constant_value(iou_threshold, ALL_CLASS, "iou_threshold")
    least = constant_value(score_threshold, ALL_CLASS, "score_threshold")
    found = typed(by_topi(ALL_CLASS, boxes, scores, limit, iou, least, attrs.output_format))
    if attrs.output_format != "onnx" or limit == count:
        return found
    from tvm import relax

    rows, total = (relax.TupleGetItem(found, n) for n in range(2))
    rest = R.zeros((batch * classes * (count - limit), 3), "int64")
    return relax.Tuple([typed(R.concat([typed(rows), typed(rest)], axis=0)), typed(total)])


define_op(
    ALL_CLASS,
    "boxes scores max_output_boxes_per_class iou_threshold score_threshold",
    all_class_relation,
    arithmetic=Arithmetic.OTHER,
    reference=all_class_reference,
    attrs=AttrsType(
        "relay.attrs.AllClassNonMaximumSuppressionAttrs",
        (Attr("output_format", string, "onnx", "format of the results: onnx or tensorflow"),),
    ),
    attrs_key="",
    flops=lambda attrs, args, result: _quadratic(attrs, args, result) * args[1].shape[1],
    relax=_all_class_relax,
    pattern=OpPattern.OPAQUE,
    results=lambda call: 2 if call.attrs.output_format == "onnx" else 3,
    defaults={"max_output_boxes_per_class": -1, "iou_threshold": -1.0, "score_threshold": -1.0},
    constants={
        "max_output_boxes_per_class": "int32",
        "iou_threshold": "float32",
        "score_threshold": "float32",
    },
    doc="Non-maximum suppression within each class: the indices of the chosen boxes, their number.",
)
