"""Sample calls of operators on images: resizing, sampling, padding with nearby elements."""

from __future__ import annotations

from typing import Any

from byoc_lab.relay import image, nn
from byoc_lab.relay.image import resize2d
from tests.relay.op.samples.sample import Sample, Shape, sourced


def resized(note: str, **attrs: Any) -> Sample:
    return Sample(
        "image.resize2d", lambda x: resize2d(x, (5, 9), **attrs), ((1, 2, 4, 6),), note=note
    )


IMAGES = [
    resized(""),
    resized("corners", coordinate_transformation_mode="align_corners"),
    resized("cubic", method="cubic"),
    resized("nearest", method="nearest_neighbor", coordinate_transformation_mode="asymmetric"),
]


ROI = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 0.25}


MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn")


def resize(rank: int, note: str, data: Shape, size: Shape, **attrs: Any) -> Sample:
    build = getattr(image, f"resize{rank}d")
    return Sample(f"image.resize{rank}d", lambda x: build(x, size, **attrs), (data,), note=note)


def crop(note: str, data: Shape, layout: str, size: Shape, **attrs: Any) -> Sample:
    return Sample(
        "image.crop_and_resize",
        lambda x, boxes, i: image.crop_and_resize(x, boxes, i, size, layout, **attrs),
        (data, (3, 4), (3,)),
        dtypes=("float32", "float32", "int32"),
        ranges=((-2, 2), (0, 1.2), (0, data[0])),
        note=note,
    )


def grid(note: str, data: Shape, places: Shape, **attrs: Any) -> Sample:
    return Sample(
        "image.grid_sample",
        lambda x, g: image.grid_sample(x, g, **attrs),
        (data, places),
        ranges=((-2, 2), (-1.6, 1.6)),
        note=note,
    )


IMAGE_SAMPLES = [
    *IMAGES,
    *[
        resize(1, f"{method}-{mode}", (2, 3, 5), (8,), method=method, **options)
        for method in ("nearest_neighbor", "linear", "cubic")
        for mode, options in (
            ("half", {}),
            ("corners", {"coordinate_transformation_mode": "align_corners"}),
        )
    ],
    resize(1, "nwc", (2, 5, 3), (8,), layout="NWC"),
    resize(1, "roi", (2, 3, 5), (4,), roi=(0.1, 1.2), **ROI),
    *[
        resize(3, mode, (1, 2, 3, 4, 5), (5, 3, 7), coordinate_transformation_mode=mode)
        for mode in MODES
    ],
    resize(3, "nearest", (1, 2, 3, 4, 5), (5, 3, 7), method="nearest_neighbor"),
    resize(3, "ndhwc", (1, 3, 4, 5, 2), (5, 3, 7), layout="NDHWC"),
    resize(3, "cubic", (1, 2, 4, 4, 5), (5, 3, 7), method="cubic"),
    resize(3, "roi", (1, 2, 3, 4, 5), (3, 3, 4), roi=(0, 0.1, 0.2, 1, 0.8, 1.3), **ROI),
    resize(2, "roi", (1, 2, 6, 7), (4, 5), roi=(0.1, 0, 0.8, 1.2), **ROI),
    resize(2, "roi-cubic", (1, 2, 6, 7), (4, 5), roi=(0.1, 0, 0.8, 1.2), method="cubic", **ROI),
    *[
        resize(
            2,
            f"{mode}-{rounding}",
            (1, 2, 4, 4),
            (7, 8),
            method="nearest_neighbor",
            coordinate_transformation_mode=mode,
            rounding_method=rounding,
        )
        for mode, rounding in (
            ("align_corners", "round"),
            ("asymmetric", "round"),
            ("asymmetric", "ceil"),
            ("half_pixel", "round_prefer_floor"),
        )
    ],
    Sample(
        "nn.upsampling3d",
        lambda x: nn.upsampling3d(x, 2, 1.5, 2),
        ((1, 2, 2, 4, 3),),
        note="nearest",
    ),
    Sample(
        "nn.upsampling3d",
        lambda x: nn.upsampling3d(x, 2, 1.5, 2, layout="NDHWC", method="trilinear"),
        ((1, 2, 4, 3, 2),),
        note="trilinear",
    ),
    crop("nchw", (2, 3, 6, 7), "NCHW", (3, 4)),
    crop("nhwc", (2, 6, 7, 3), "NHWC", (3, 4), extrapolation_value=0.5),
    crop("nearest", (2, 3, 6, 7), "NCHW", (3, 4), method="nearest_neighbor"),
    *[
        grid(
            f"{method}-{mode}-{corners}",
            (2, 3, 5, 6),
            (2, 2, 3, 4),
            method=method,
            padding_mode=mode,
            align_corners=corners,
        )
        for method in ("bilinear", "nearest", "bicubic")
        for mode in ("zeros", "border", "reflection")
        for corners in (True, False)
    ],
    *[
        grid(f"3d-{method}", (1, 2, 3, 4, 5), (1, 3, 2, 3, 4), method=method, layout="NCDHW")
        for method in ("bilinear", "nearest")
    ],
    Sample("image.affine_grid", lambda x: image.affine_grid(x, (4, 5)), ((2, 2, 3),)),
    Sample(
        "image.dilation2d",
        lambda x, w: image.dilation2d(x, w, strides=(2, 1), padding=(1, 0), dilations=(1, 2)),
        ((1, 3, 7, 8), (3, 2, 3)),
    ),
    Sample(
        "image.dilation2d",
        lambda x, w: image.dilation2d(x, w, data_layout="NHWC", kernel_layout="HWI"),
        ((1, 7, 8, 3), (2, 3, 3)),
        note="nhwc",
    ),
    Sample("nn.mirror_pad", lambda x: nn.mirror_pad(x, ((1, 2), (0, 1))), ((3, 4),)),
    Sample(
        "nn.mirror_pad",
        lambda x: nn.mirror_pad(x, ((1, 2), (0, 1)), mode="REFLECT"),
        ((3, 4),),
        note="reflect",
    ),
    sourced("nn.dilate", "relay.nn.dilate(x0, (2, 3), 0.5)", ((2, 3),)),
    Sample("nn.lrn", nn.lrn, ((2, 6, 3, 3),)),
    Sample("nn.lrn", lambda x: nn.lrn(x, size=4, alpha=0.5), ((2, 6, 3, 3),), note="even"),
    Sample("nn.lrn", lambda x: nn.lrn(x, size=3, axis=3, alpha=0.5), ((2, 3, 3, 6),), note="last"),
]
