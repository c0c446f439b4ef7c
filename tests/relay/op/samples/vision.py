"""Sample calls of operators for detection networks, packed bits and random numbers."""

from __future__ import annotations

from typing import Any

from byoc_lab.relay import nn, vision
from tests.relay.op.samples.sample import Sample, Shape

COUNT = ("float32", "int32", "int32")


def nms(note: str, fields: int, start: int, **attrs: Any) -> Sample:
    """Boxes with random corners and scores; all have one class, or none."""
    return Sample(
        "vision.non_max_suppression",
        lambda x, count, indices: vision.non_max_suppression(
            x, count, indices, coord_start=start, **attrs
        ),
        ((2, 12, fields), (2,), (2, 12)),
        dtypes=COUNT,
        ranges=((-0.2, 1), (9, 12), (0, 40)),
        note=note,
        relax="positive score",
    )


def all_class(note: str, *limits: float, **attrs: Any) -> Sample:
    return Sample(
        "vision.all_class_non_max_suppression",
        lambda b, s: vision.all_class_non_max_suppression(b, s, *limits, **attrs),
        ((2, 9, 4), (2, 3, 9)),
        low=0,
        high=1,
        note=note,
    )


def regions(op: str, note: str, data: Shape, **attrs: Any) -> Sample:
    """All regions are in the first image: the image number is uniform below 1."""
    build = getattr(vision, op)
    return Sample(
        f"vision.{op}",
        lambda x, r: build(x, r, (3, 2), 0.75, **attrs),
        (data, (6, 5)),
        ranges=((-1, 1), (0, 0.99)),
        note=note,
    )


def deformable(note: str, *shapes: Shape, relax: str = "", **attrs: Any) -> Sample:
    return Sample(
        "nn.deformable_conv2d",
        lambda x, o, w: nn.deformable_conv2d(x, o, w, **attrs),
        shapes,
        note=note,
        relax=relax,
    )


def correlated(note: str, *attrs: Any) -> Sample:
    return Sample(
        "nn.correlation",
        lambda a, b: nn.correlation(a, b, *attrs, "NCHW"),
        ((2, 3, 8, 9),) * 2,
        note=note,
    )


NHWC = {"data_layout": "NHWC", "kernel_layout": "HWIO"}

VISION_SAMPLES = [
    Sample(
        "vision.get_valid_counts",
        lambda x: vision.get_valid_counts(x, 0.3, id_index=0, score_index=1),
        ((2, 8, 6),),
        low=-0.5,
        high=1,
    ),
    Sample(
        "vision.get_valid_counts",
        lambda x: vision.get_valid_counts(x, 0.2, id_index=-1, score_index=0),
        ((2, 8, 5),),
        note="no classes",
    ),
    nms("boxes", 5, 1, id_index=-1, score_index=0, return_indices=False),
    nms("indices", 5, 1, id_index=-1, score_index=0, iou_threshold=0.1),
    nms("in front", 6, 2, force_suppress=True, invalid_to_bottom=True, return_indices=False),
    nms("few", 6, 2, force_suppress=True, top_k=8, max_output_size=3, return_indices=False),
    all_class("onnx", 4, 0.3, 0.2),
    all_class("all", -1, 0.4, 0.1),
    all_class("tensorflow", 4, 0.3, 0.2, output_format="tensorflow"),
    Sample(
        "vision.regular_non_max_suppression",
        lambda b, s: vision.regular_non_max_suppression(b, s, 3, 7, 2, 0.3, 0.2),
        ((2, 9, 4), (2, 9, 3)),
        low=0,
        high=1,
        relax="TFLite",
    ),
    Sample(
        "vision.multibox_prior",
        lambda x: vision.multibox_prior(x, (0.5, 0.25), (1, 2, 0.5), steps=(-1, 0.125), clip=True),
        ((2, 3, 4, 5),),
    ),
    Sample(
        "vision.multibox_transform_loc",
        vision.multibox_transform_loc,
        ((2, 3, 7), (2, 28), (1, 7, 4)),
        low=0,
        high=1,
        relax="compact boxes",
    ),
    Sample(
        "vision.proposal",
        lambda p, b, i: vision.proposal(p, b, i, (1.0, 2.0), (0.5, 1), 8, 0.5, 20, 6, 4, False),
        ((1, 8, 4, 5), (1, 16, 4, 5), (1, 3)),
        ranges=((0, 1), (-0.5, 0.5), (30, 40)),
        relax="proposals",
    ),
    regions("roi_align", "avg", (1, 3, 6, 7)),
    regions("roi_align", "bytes", (1, 3, 6, 7), mode=b"avg"),
    regions("roi_align", "two samples", (1, 3, 6, 7), sample_ratio=2),
    regions("roi_align", "max-nhwc", (1, 6, 7, 3), layout="NHWC", mode="max"),
    regions("roi_pool", "nchw", (1, 3, 6, 7)),
    regions("roi_pool", "nhwc", (1, 6, 7, 3), layout="NHWC"),
    Sample("vision.yolo_reorg", lambda x: vision.yolo_reorg(x, 2), ((2, 4, 6, 8),)),
    deformable("plain", (2, 4, 6, 7), (2, 12, 5, 5), (6, 4, 2, 3)),
    deformable(
        "moved apart",
        (1, 4, 8, 7),
        (1, 36, 3, 4),
        (6, 4, 3, 3),
        strides=2,
        padding=1,
        dilation=(2, 1),
        deformable_groups=2,
    ),
    deformable(
        "groups", (1, 4, 5, 5), (1, 18, 3, 3), (6, 2, 3, 3), groups=2, relax="groups=1, found 2"
    ),
    deformable(
        "nhwc", (1, 6, 7, 4), (1, 4, 5, 18), (3, 3, 4, 2), channels=2, out_layout="NCHW", **NHWC
    ),
    correlated("near", 1, 2, 1, 1, (2, 2), True),
    correlated("far", 3, 4, 2, 2, (4, 4, 5, 5), False),
]
