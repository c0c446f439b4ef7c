"""Sample calls of the quantized operators."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import Constant
from byoc_lab.relay.qnn import op as qnn
from tests.relay.op.samples.sample import Sample, Shape, sourced


def scale(*values: float) -> Constant:
    return relay.const(np.float32(values[0] if len(values) == 1 else values))


def zero(*values: int) -> Constant:
    return relay.const(np.int32(values[0] if len(values) == 1 else values))


def quantized(op: str, build: Any, *shapes: Shape, note: str = "", dtype: str = "int8") -> Sample:
    """Integers over the whole range of int8, or of [0, 255) for uint8."""
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


def table(name: str, dtype: str, low: int, high: int) -> Sample:
    """`qnn.<name>` on numbers from `low` on; scales of 1/16 keep the results in range."""
    build = getattr(qnn, name)
    return Sample(
        f"qnn.{name}",
        lambda x: build(x, scale(0.0625), zero(low), scale(0.03), zero(3)),
        ((3, 40),),
        low=low + 1,
        high=high,
        dtypes=(dtype,),
        note=dtype,
    )


def whole(op: str, build: Any, *shapes: Shape, note: str = "", **more: Any) -> Sample:
    more = {"low": -128, "high": 128, "dtypes": ("int8",) * len(shapes)} | more
    return Sample(f"qnn.{op}", build, shapes, note=note, **more)


QNN_SAMPLES = [
    *QUANTIZED,
    *[
        table(name, dtype, low, high)
        for name in ("tanh", "sqrt", "rsqrt", "erf", "sigmoid", "log", "abs", "hardswish")
        for dtype, low, high in (("int8", -128, 127), ("uint8", 0, 255))
    ],
    table("exp", "int8", -128, -80),
    *[
        whole("leaky_relu", partial(lambda x, s: qnn.leaky_relu(x, 0.1, *s), s=s), (3, 40), note=n)
        for n, s in (
            ("same", (scale(0.5), zero(3), scale(0.5), zero(3))),
            ("other", (scale(0.5), zero(3), scale(0.7), zero(5))),
        )
    ],
    whole(
        "softmax", lambda x: qnn.softmax(x, scale(0.1), zero(3), scale(1 / 256), zero(-128)), (3, 9)
    ),
    whole(
        "softmax",
        lambda x: qnn.softmax(x, scale(0.05), zero(0), scale(1 / 256), zero(-128), 0),
        (5, 4),
        note="axis",
    ),
    whole(
        "avg_pool2d",
        lambda x: qnn.avg_pool2d(
            x, scale(0.5), zero(3), scale(0.7), zero(5), (2, 2), (2, 2), (0, 0), (1, 1)
        ),
        (1, 4, 6, 3),
    ),
    whole(
        "avg_pool2d",
        lambda x: qnn.avg_pool2d(
            x,
            *(scale(0.5), zero(3), scale(0.5), zero(3)),
            *((3, 3), (2, 2), (1, 1), (1, 1)),
            count_include_pad=False,
            layout="NCHW",
        ),
        (1, 3, 6, 6),
        note="nchw",
    ),
    whole(
        "batch_matmul",
        lambda x, y: qnn.batch_matmul(x, y, zero(3), zero(-2), scale(0.5), scale(0.25)),
        (2, 3, 4),
        (2, 5, 4),
    ),
    whole(
        "conv2d_transpose",
        lambda x, w: qnn.conv2d_transpose(
            x,
            w,
            *(zero(3), zero(0), scale(0.5), scale(0.25)),
            strides=(2, 1),
            padding=(1, 0),
            kernel_size=(3, 3),
            channels=4,
        ),
        (1, 3, 5, 5),
        (3, 4, 3, 3),
    ),
    whole(
        "contrib_dense_pack",
        lambda x, w: qnn.contrib_dense_pack(
            x, w, zero(3), zero(0), scale(0.5), scale(0.25), "NC16n4c", 32
        ),
        (3, 8),
        (2, 2, 16, 4),
    ),
    whole(
        "mul",
        lambda x, y: qnn.mul(
            x,
            y,
            *(scale(0.1, 0.02, 0.3), zero(3)),
            *(scale(0.2, 0.5, 0.4), zero(-2), scale(0.5), zero(1)),
            lhs_axis=1,
            rhs_axis=1,
        ),
        (2, 3, 4),
        (2, 3, 4),
        note="channels",
    ),
    *[
        Sample(
            f"qnn.simulated_{name}",
            partial(
                lambda x, build, kind: build(x, scale(0.1, 0.2, 0.4), zero(1, 2, 3), 1, kind),
                build=getattr(qnn, f"simulated_{name}"),
                kind=kind,
            ),
            ((2, 3, 4),),
            low=-40,
            high=40,
            note=kind,
        )
        for name in ("quantize", "dequantize")
        for kind in ("int8", "uint8", "disable")
    ],
    sourced(
        "nn.contrib_dense_pack", "relay.nn.contrib_dense_pack(x0, x1, 'NC8n')", ((3, 5), (2, 5, 8))
    ),
    sourced(
        "nn.contrib_conv2d_NCHWc",
        "relay.nn.contrib_conv2d_nchwc(x0, x1, padding=(1, 0), strides=(2, 1), channels=24, "
        "kernel_size=(3, 3), data_layout='NCHW4c', kernel_layout='OIHW4i8o', out_layout='NCHW8c')",
        ((1, 2, 7, 8, 4), (3, 2, 3, 3, 4, 8)),
    ),
    sourced(
        "nn.contrib_depthwise_conv2d_NCHWc",
        "relay.nn.contrib_depthwise_conv2d_nchwc(x0, x1, channels=8, groups=8, "
        "kernel_size=(3, 3), data_layout='NCHW4c', kernel_layout='OIHW1i4o', out_layout='NCHW4c')",
        ((1, 2, 7, 8, 4), (2, 1, 3, 3, 1, 4)),
    ),
]
