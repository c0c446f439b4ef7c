"""Sample calls of the operators beyond those of `samples.py`: windows of other ranks, picking,
sorting, images, quantized numbers, devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import Constant, nn
from byoc_lab.relay.image import resize2d
from byoc_lab.relay.op.annotation.device import on_device
from byoc_lab.relay.qnn import op as qnn
from tests.relay.op.sample import Sample, Shape, binary, sourced, unary


def window(op: str, note: str, *shapes: Shape, relax: str = "", **attrs: Any) -> Sample:
    """A call of `nn.<op>` with these attributes."""
    build = getattr(nn, op)
    return Sample(f"nn.{op}", lambda *a: build(*a, **attrs), shapes, note=note, relax=relax)


def picked(op: str, *shapes: Shape, limit: int, note: str = "", relax: str = "", **attrs: Any):
    """`relay.<op>(data, indices)`, indices of int32 in [0, limit)."""
    build = getattr(relay, op)
    return Sample(
        op,
        lambda x, i: build(x, indices=i, **attrs),
        shapes,
        low=0,
        high=limit,
        dtypes=("float32", "int32"),
        note=note,
        relax=relax,
    )


def averages(dtype: str, low: float) -> list[Sample]:
    """Averages of integers: halves are cut towards zero, sums may be more than they can hold."""
    builds = {
        "mean": lambda x: relay.mean(x, (0, 2), True),
        "nn.avg_pool2d": lambda x: nn.avg_pool2d(x, (3, 3), padding=(1, 1)),
        "nn.avg_pool1d": lambda x: nn.avg_pool1d(relay.reshape(x, (1, 20, 6)), 2),
        "nn.global_avg_pool2d": nn.global_avg_pool2d,
        "nn.adaptive_avg_pool2d": lambda x: nn.adaptive_avg_pool2d(x, (2, 3)),
    }
    return [Sample(op, b, ((1, 4, 5, 6),), low, 99, (dtype,), dtype) for op, b in builds.items()]


WINDOWS = [
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
    window(
        "conv2d_transpose",
        "dilated",
        (1, 2, 5, 6),
        (2, 3, 2, 2),
        dilation=(2, 1),
    ),
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
    window(
        "adaptive_max_pool2d",
        "bins",
        (1, 2, 7, 8),
        output_size=(3, 5),
    ),
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


def resize(note: str, **attrs: Any) -> Sample:
    return Sample(
        "image.resize2d", lambda x: resize2d(x, (5, 9), **attrs), ((1, 2, 4, 6),), note=note
    )


IMAGES = [
    resize(""),
    resize("corners", coordinate_transformation_mode="align_corners"),
    resize("cubic", method="cubic"),
    resize("nearest", method="nearest_neighbor", coordinate_transformation_mode="asymmetric"),
]
PICKING = [
    Sample("strided_slice", lambda x: relay.strided_slice(x, [0, 1], [1, 3]), ((2, 4, 3),)),
    *[
        Sample(
            "strided_slice", lambda x, a=args: relay.strided_slice(x, *a), ((3, 4, 5),), note=note
        )
        for note, args in {
            "short begin": ([1], [4, 3]),
            "short end": ([0, 1, 2], [2]),
            "longer strides": ([2], [0], [-1, 2, -2]),
        }.items()
    ],
    Sample(
        "strided_slice",
        lambda x: relay.strided_slice(x, [-1, 0], [-9, 5], [-2, 2], [1, 0]),
        ((3, 5, 2),),
        note="backwards",
    ),
    Sample(
        "strided_slice",
        lambda x: relay.strided_slice(x, [1, 0], [2, -1], slice_mode="size"),
        ((4, 3),),
        note="size",
    ),
    Sample("slice_like", lambda x, y: relay.slice_like(x, y, (0, 2)), ((4, 3, 5), (2, 9, 4))),
    picked("take", (3, 4), (2, 5), limit=4, axis=1),
    picked("take", (3, 4), (5,), limit=12, note="flat"),
    picked(
        "take",
        (3, 4, 2),
        (3, 5),
        limit=4,
        axis=1,
        batch_dims=1,
        note="batch",
    ),
    picked("gather", (3, 4), (3, 2), limit=4, axis=1),
    picked("gather_nd", (3, 4, 5), (2, 6), limit=3),
    picked("gather_nd", (2, 3, 4), (1, 2, 5), limit=3, batch_dims=1, note="batch"),
    Sample(
        "one_hot",
        lambda i: relay.one_hot(i, relay.const(2.0), relay.const(-1.0), 4, 1, "float32"),
        ((2, 3),),
        low=0,
        high=4,
        dtypes=("int32",),
    ),
    Sample("stack", lambda x, y: relay.stack([x, y], -1), ((2, 3), (2, 3))),
    Sample("tile", lambda x: relay.tile(x, (2, 1, 3))),
    Sample("reshape_like", relay.reshape_like, ((2, 6), (3, 4))),
    Sample(
        "reshape_like",
        lambda x, y: relay.reshape_like(x, y, 1, 2, -2, None),
        ((2, 6, 5), (9, 3, 2)),
        note="part",
    ),
    Sample("shape_of", relay.shape_of),
    Sample("reverse", lambda x: relay.reverse(x, 1)),
    Sample("broadcast_to", lambda x: relay.broadcast_to(x, (4, 2, 3)), ((2, 1),)),
    Sample("broadcast_to_like", relay.broadcast_to_like, ((2, 1), (4, 2, 3))),
    Sample("full_like", lambda x: relay.full_like(x, relay.const(0.5))),
    Sample("where", relay.where, ((3,), (2, 3), (2, 1)), dtypes=("bool",)),
    Sample("arange", lambda: relay.arange(*map(relay.const, (1, 12, 4)), dtype="int32"), ()),
    Sample("arange", lambda: relay.arange(relay.const(3.0)), (), note="from-zero"),
    Sample(
        "layout_transform", lambda x: relay.layout_transform(x, "NCHW", "NHWC"), ((1, 2, 3, 4),)
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "NCHW4c", "NHWC8c"),
        ((1, 4, 2, 3, 4),),
        note="blocked",
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "NCHW", "NCHW2c"),
        ((1, 4, 2, 3),),
        note="into-blocks",
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "NCHW4c", "NHWC3c"),
        ((1, 2, 2, 3, 4),),
        note="blocks-not-full",
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "NCHW8c", "NHWC2c"),
        ((1, 2, 2, 3, 8),),
        note="smaller-blocks",
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "OIHW", "OHWI2i4o2i"),
        ((8, 8, 3, 2),),
        note="blocks-in-blocks",
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "OHWI2i4o4i", "OIHW4i2o2i2o"),
        ((1, 3, 2, 2, 2, 4, 4),),
        note="between-blocks-in-blocks",
    ),
    Sample("cast_like", relay.cast_like, ((2, 3), (1,)), high=9, dtypes=("float32", "int32")),
]
SORTING = [
    Sample("argmax", lambda x: relay.argmax(x, 1), ((3, 4),)),
    Sample("argmax", lambda x: relay.argmax(x, keepdims=True), ((3, 4),), note="all"),
    Sample("argmin", lambda x: relay.argmin(x, 0), ((3, 4),)),
    Sample(
        "argmin",
        lambda x: relay.argmin(x, (0, 2), select_last_index=True),
        ((3, 4, 2),),
        note="last",
    ),
    Sample("all", lambda x: relay.all(x, 1), ((4, 3),), dtypes=("bool",)),
    Sample("any", lambda x: relay.any(x, 0, True), ((4, 3),), dtypes=("bool",)),
    Sample("topk", lambda x: relay.topk(x, 2), ((3, 4),)),
    Sample("topk", lambda x: relay.topk(x, 2, 0, "values", True), ((3, 4),), note="least"),
    Sample("argsort", relay.argsort, ((3, 4),)),
    Sample("argsort", lambda x: relay.argsort(x, 0, False), ((3, 4),), note="falling"),
    Sample("sort", relay.sort, ((3, 4),)),
    sourced("cumsum", "relay.cumsum(x0, 1)", ((3, 4),)),
    sourced("cumsum", "relay.cumsum(x0, exclusive=True)", ((3, 4),), note="exclusive"),
    sourced("cumprod", "relay.cumprod(x0, 0)", ((3, 4),)),
]
INTEGERS = ("int32", "int32")
ELEMENTWISE = [
    *map(unary, ["tan", "atan", "sinh", "cosh", "asinh", "trunc", "fast_exp", "fast_tanh"]),
    *map(unary, ["isnan", "isinf", "isfinite", "fast_erf"]),
    *[unary(n, low=-0.9, high=0.9) for n in ["asin", "acos", "atanh"]],
    *[unary(n, low=1.1) for n in ["acosh", "log2", "log10"]],
    unary("bitwise_not", low=-99, high=99, dtypes=("int32",)),
    *[
        binary(n, low=-99, high=99, dtypes=INTEGERS)
        for n in ["bitwise_and", "bitwise_or", "bitwise_xor"]
    ],
    *[binary(n, low=1, high=9, dtypes=INTEGERS) for n in ["left_shift", "right_shift", "mod"]],
    *[
        binary(n, low=1, high=9, dtypes=INTEGERS)
        for n in ["floor_divide", "floor_mod", "trunc_mod"]
    ],
    binary("trunc_divide", low=1, high=9),
    binary("trunc_divide", low=1, high=9, dtypes=INTEGERS, note="integers"),
    binary("logical_xor", dtypes=("bool", "bool")),
]


def scale(*values: float) -> Constant:
    return relay.const(np.float32(values[0] if len(values) == 1 else values))


def zero(*values: int) -> Constant:
    return relay.const(np.int32(values[0] if len(values) == 1 else values))


def quantized(op: str, build: Any, *shapes: Shape, note: str = "", dtype: str = "int8") -> Sample:
    """Integers from all over the range of int8, or of [0, 255) for uint8."""
    low, high = (0, 255) if dtype == "uint8" else (-128, 128)
    return Sample(f"qnn.{op}", build, shapes, low, high, (dtype,) * len(shapes), note)


OPERANDS = (scale(0.25), zero(3), scale(0.125), zero(-5), scale(0.5), zero(7))
QUANTIZED = [
    Sample("qnn.quantize", lambda x: qnn.quantize(x, scale(0.013), zero(3))),
    Sample(
        "qnn.quantize",
        lambda x: qnn.quantize(x, scale(0.1, 0.02, 0.3), zero(3, 4, 5), 1, "uint8"),
        ((2, 3, 4),),
        note="channels",
    ),
    quantized("dequantize", lambda x: qnn.dequantize(x, scale(0.1), zero(3)), (2, 3)),
    quantized(
        "dequantize",
        lambda x: qnn.dequantize(x, scale(0.1, 0.02, 0.3), zero(3, 4, 5), 1),
        (2, 3, 4),
        note="channels",
        dtype="uint8",
    ),
    quantized(
        "requantize",
        lambda x: qnn.requantize(x, scale(0.25), zero(3), scale(0.7), zero(5), out_dtype="uint8"),
        (2, 3),
    ),
    quantized(
        "requantize",
        lambda x: qnn.requantize(
            x, scale(0.25, 1.5, 0.01), zero(0), scale(0.5), zero(-3), 1, "TONEAREST"
        ),
        (2, 3, 4),
        note="channels",
        dtype="int32",
    ),
    quantized(
        "conv2d",
        lambda x, w: qnn.conv2d(
            x, w, zero(3), zero(-2), scale(0.5), scale(0.25), (3, 3), 4, padding=(1, 1)
        ),
        (1, 3, 5, 6),
        (4, 3, 3, 3),
    ),
    quantized(
        "conv2d",
        lambda x, w: qnn.conv2d(
            x,
            w,
            zero(3),
            zero(1, 2),
            scale(0.5),
            scale(0.25, 0.5),
            (3, 3),
            2,
            data_layout="NHWC",
            kernel_layout="HWIO",
        ),
        (1, 5, 6, 3),
        (3, 3, 3, 2),
        note="channels",
    ),
    quantized(
        "dense",
        lambda x, w: qnn.dense(x, w, zero(3), zero(-2), scale(0.5), scale(0.25), 4),
        (2, 5),
        (4, 5),
    ),
    *[
        quantized(
            name, lambda a, b, name=name: getattr(qnn, name)(a, b, *OPERANDS), (2, 1, 4), (3, 1)
        )
        for name in ("add", "subtract", "mul")
    ],
    quantized(
        "concatenate",
        lambda a, b: qnn.concatenate(
            [a, b], [scale(0.5), scale(0.25)], [zero(3), zero(-4)], scale(0.5), zero(3), 1
        ),
        (2, 3),
        (2, 4),
    ),
]
DEVICES = [
    Sample("on_device", lambda x: on_device(x, "cpu")),
    Sample("device_copy", lambda x: relay.device_copy(x, "cpu", "cuda:1")),
]
MORE_SAMPLES = [
    *WINDOWS,
    *IMAGES,
    *PICKING,
    *SORTING,
    *ELEMENTWISE,
    *QUANTIZED,
    *DEVICES,
]
