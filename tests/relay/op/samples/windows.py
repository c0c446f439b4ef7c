"""Sample calls of convolution, pooling and normalization with windows of all ranks."""

from __future__ import annotations

from typing import Any

from byoc_lab import relay
from byoc_lab.relay import nn
from tests.relay.op.samples.sample import Sample, Shape


def window(op: str, note: str, *shapes: Shape, relax: str = "", **attrs: Any) -> Sample:
    """A call of `nn.<op>` with these attributes."""
    build = getattr(nn, op)
    return Sample(f"nn.{op}", lambda *a: build(*a, **attrs), shapes, note=note, relax=relax)


def averages(dtype: str, low: float) -> list[Sample]:
    """Means of integers: halves are truncated towards zero, and sums may exceed the dtype's
    range."""
    builds = {
        "mean": lambda x: relay.mean(x, (0, 2), True),
        "nn.avg_pool2d": lambda x: nn.avg_pool2d(x, (3, 3), padding=(1, 1)),
        "nn.avg_pool1d": lambda x: nn.avg_pool1d(relay.reshape(x, (1, 20, 6)), 2),
        "nn.global_avg_pool2d": nn.global_avg_pool2d,
        "nn.adaptive_avg_pool2d": lambda x: nn.adaptive_avg_pool2d(x, (2, 3)),
    }
    return [Sample(op, b, ((1, 4, 5, 6),), low, 99, (dtype,), dtype) for op, b in builds.items()]


NN_SAMPLES = [
    *averages("int32", -99),
    *averages("int8", -99),
    *averages("uint8", 0),
    window("conv1d", "grouped", (2, 4, 9), (6, 2, 3), groups=2, padding=1, strides=2),
    window("conv1d", "", (2, 4, 9), (6, 4, 3), padding=(2, 0), dilation=2),
    window("conv1d", "nwc", (2, 9, 3), (3, 3, 4), data_layout="NWC", kernel_layout="WIO"),
    window("conv3d", "", (1, 2, 5, 6, 7), (4, 2, 3, 2, 3), padding=(1, 0, 1), strides=2),
    window(
        "conv3d",
        "multiplied",
        (1, 3, 5, 6, 7),
        (3, 2, 3, 2, 3),
        groups=3,
        channels=6,
        kernel_size=(3, 2, 3),
    ),
    window(
        "conv3d",
        "ndhwc",
        (1, 5, 6, 7, 2),
        (3, 2, 3, 2, 4),
        data_layout="NDHWC",
        kernel_layout="DHWIO",
    ),
    window("conv1d_transpose", "", (2, 3, 5), (3, 4, 3), strides=(2,), output_padding=(1,)),
    window("conv2d_transpose", "", (1, 3, 5, 6), (3, 4, 3, 2), strides=(2, 2), padding=(1, 0)),
    window(
        "conv2d_transpose",
        "grouped",
        (1, 4, 5, 6),
        (4, 3, 3, 3),
        groups=2,
        channels=6,
        kernel_size=(3, 3),
    ),
    window("conv2d_transpose", "dilated", (1, 2, 5, 6), (2, 3, 2, 2), dilation=(2, 1)),
    window("conv3d_transpose", "", (1, 2, 3, 4, 3), (2, 3, 2, 2, 2), strides=2),
    *[
        window(
            f"{kind}_pool{rank}d",
            "",
            (1, 2, 7, 8, 6)[: rank + 2],
            pool_size=3,
            strides=2,
            padding=1,
        )
        for kind in ("max", "avg")
        for rank in (1, 3)
    ],
    *[
        window(
            f"adaptive_{kind}_pool{rank}d", "", (1, 2, 7, 8, 6)[: rank + 2], output_size=(1,) * rank
        )
        for kind in ("max", "avg")
        for rank in (1, 2, 3)
    ],
    *[
        window(
            f"adaptive_avg_pool{rank}d",
            "bins",
            (1, 2, 7, 8, 6)[: rank + 2],
            output_size=(3, 5, 4)[:rank],
        )
        for rank in (1, 2, 3)
    ],
    window("adaptive_max_pool2d", "bins", (1, 2, 7, 8), output_size=(3, 5)),
    window("matmul", "", (3, 4), (4, 5)),
    window("matmul", "transposed", (2, 4, 3), (5, 4), transpose_a=True, transpose_b=True),
    window("fast_softmax", "", (2, 5)),
    window("upsampling", "", (1, 2, 3, 4), scale_h=2, scale_w=2),
    window(
        "upsampling",
        "bilinear",
        (1, 3, 4, 2),
        scale_h=2,
        scale_w=1.5,
        layout="NHWC",
        method="bilinear",
        align_corners=True,
    ),
    window("depth_to_space", "", (1, 8, 3, 2), block_size=2),
    window("depth_to_space", "crd", (1, 3, 2, 8), block_size=2, layout="NHWC", mode="CRD"),
    window("space_to_depth", "", (1, 2, 4, 6), block_size=2),
]
