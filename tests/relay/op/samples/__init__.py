"""Sample calls of every operator; several tests run over all of them.

For a new operator add samples here or in the file of its family; otherwise `test_samples.py` fails.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from byoc_lab import relay
from byoc_lab.relay import nn
from tests.relay.op.samples.array import ARRAY_SAMPLES
from tests.relay.op.samples.device import DEVICE_SAMPLES
from tests.relay.op.samples.dyn import DYN_SAMPLES
from tests.relay.op.samples.image import IMAGE_SAMPLES
from tests.relay.op.samples.index import INDEX_SAMPLES
from tests.relay.op.samples.qnn import QNN_SAMPLES
from tests.relay.op.samples.sample import Sample, Shape, binary, unary
from tests.relay.op.samples.tensor import TENSOR_SAMPLES
from tests.relay.op.samples.vision import VISION_SAMPLES
from tests.relay.op.samples.windows import NN_SAMPLES


def conv(note: str, data: Shape, weight: Shape, **attrs: Any) -> Sample:
    return Sample("nn.conv2d", lambda x, w: nn.conv2d(x, w, **attrs), (data, weight), note=note)


def pool(kind: str, note: str, data: Shape, **attrs: Any) -> Sample:
    build = getattr(nn, f"{kind}_pool2d")
    return Sample(f"nn.{kind}_pool2d", lambda x: build(x, **attrs), (data,), note=note)


def norm(kind: str, note: str, data: Shape, channels: int, **attrs: Any) -> Sample:
    build = getattr(nn, kind)
    shapes = (data, (channels,), (channels,))
    return Sample(f"nn.{kind}", lambda x, g, b: build(x, g, b, **attrs), shapes, note=note)


def batch_norm(note: str, data: Shape, channels: int, **attrs: Any) -> Sample:
    return Sample(
        "nn.batch_norm",
        lambda *args: nn.batch_norm(*args, **attrs),
        (data, *[(channels,)] * 4),
        low=0.5,  # a variance is positive
        note=note,
    )


SAMPLES = [
    *map(
        unary,
        [
            "abs",
            "exp",
            "negative",
            "tanh",
            "sigmoid",
            "erf",
            "floor",
            "ceil",
            "sin",
            "cos",
            "sign",
            "copy",
        ],
    ),
    *[unary(n, low=0.1) for n in ["log", "sqrt", "rsqrt"]],
    unary("round", low=-30, high=30),
    *map(binary, ["add", "subtract", "multiply", "divide", "maximum", "minimum"]),
    *map(binary, ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]),
    binary("power", low=0.1),
    binary("logical_and", dtypes=("bool", "bool")),
    binary("logical_or", dtypes=("bool", "bool")),
    unary("logical_not", dtypes=("bool",)),
    Sample("cast", lambda x: relay.cast(x, "int32"), low=-9, high=9),
    Sample("clip", lambda x: relay.clip(x, -1.0, 0.5)),
    Sample("nn.relu", nn.relu),
    Sample("nn.leaky_relu", lambda x: nn.leaky_relu(x, alpha=0.2)),
    Sample("nn.prelu", nn.prelu, ((2, 3, 4), (3,))),
    Sample("nn.softmax", nn.softmax),
    Sample("nn.softmax", lambda x: nn.softmax(x, axis=1), ((2, 3, 4),), note="axis"),
    Sample("nn.log_softmax", nn.log_softmax),
    Sample("nn.dropout", nn.dropout),
    Sample("nn.dense", nn.dense, ((2, 5), (3, 5))),
    Sample("nn.dense", lambda x, w: nn.dense(x, w, units=3), ((2, 4, 5), (3, 5)), note="rank3"),
    Sample("nn.batch_matmul", nn.batch_matmul, ((2, 3, 4), (2, 5, 4))),
    Sample(
        "nn.batch_matmul",
        lambda a, b: nn.batch_matmul(a, b, transpose_a=True, transpose_b=False),
        ((2, 4, 3), (1, 4, 5)),
        note="transposed",
    ),
    Sample("nn.bias_add", nn.bias_add, ((2, 3, 4), (3,))),
    Sample("nn.bias_add", lambda x, b: nn.bias_add(x, b, axis=-1), ((2, 3), (3,)), note="last"),
    conv("plain", (2, 3, 8, 9), (4, 3, 3, 2)),
    conv("padded", (1, 3, 8, 8), (4, 3, 3, 3), padding=(1, 2, 0, 1), strides=(2, 1)),
    conv("dilated", (1, 2, 9, 9), (4, 2, 3, 3), dilation=(2, 3), padding=2),
    conv("grouped", (1, 4, 6, 6), (6, 2, 3, 3), groups=2, padding=1),
    conv("depthwise", (1, 4, 6, 6), (8, 1, 3, 3), groups=4, strides=2),
    conv(
        "multiplied",
        (1, 4, 8, 8),
        (4, 2, 3, 3),
        groups=4,
        channels=8,
        kernel_size=(3, 3),
        padding=1,
    ),
    conv(
        "multiplied-hwio",
        (1, 8, 8, 4),
        (3, 3, 2, 4),
        groups=4,
        channels=8,
        kernel_size=(3, 3),
        data_layout="NHWC",
        kernel_layout="HWIO",
    ),
    conv(
        "blocks-in-blocks",
        (1, 8, 5, 5),
        (2, 3, 3, 2, 2, 4, 2),
        channels=8,
        kernel_size=(3, 3),
        kernel_layout="OHWI2i4o2i",
    ),
    conv("nhwc", (1, 6, 6, 3), (3, 3, 3, 4), data_layout="NHWC", kernel_layout="HWIO"),
    conv(
        "nhwc-depthwise",
        (1, 6, 6, 3),
        (3, 3, 3, 1),
        groups=3,
        data_layout="NHWC",
        kernel_layout="HWOI",
    ),
    conv("out_layout", (1, 3, 6, 6), (4, 3, 3, 3), out_layout="NHWC"),
    pool("max", "padded", (1, 2, 7, 8), pool_size=(3, 3), strides=(2, 2), padding=(1, 1)),
    pool("max", "ceil", (1, 2, 7, 8), pool_size=(3, 2), strides=(2, 3), ceil_mode=True),
    pool("max", "dilated", (1, 2, 9, 9), pool_size=(3, 2), dilation=(2, 1)),
    pool("max", "nhwc", (1, 7, 8, 2), pool_size=(3, 3), strides=(2, 2), layout="NHWC"),
    pool("avg", "padded", (1, 2, 7, 8), pool_size=(3, 3), strides=(2, 2), padding=(1, 1)),
    pool("avg", "ceil", (1, 2, 7, 8), pool_size=(3, 3), strides=(2, 2), ceil_mode=True),
    pool(
        "avg",
        "count-padding",
        (1, 2, 7, 8),
        pool_size=(3, 3),
        strides=(2, 2),
        padding=(1, 0, 1, 1),
        ceil_mode=True,
        count_include_pad=True,
    ),
    pool("global_avg", "", (2, 3, 4, 5)),
    pool("global_avg", "nhwc", (2, 4, 5, 3), layout="NHWC"),
    pool("global_avg", "out_layout", (2, 3, 4, 5), out_layout="NHWC"),
    pool("global_max", "", (2, 3, 4, 5)),
    batch_norm("", (2, 3, 4, 5), 3),
    batch_norm("last", (2, 4, 5, 3), 3, axis=-1, epsilon=0.01),
    batch_norm("plain", (2, 3, 4, 5), 3, center=False, scale=False),
    norm("layer_norm", "", (2, 3, 4), 4),
    norm("layer_norm", "plain", (2, 3, 4), 4, center=False, scale=False),
    norm("group_norm", "", (2, 6, 4, 4), 6, num_groups=3),
    norm("group_norm", "plain", (2, 6, 4, 4), 6, num_groups=2, center=False, scale=False),
    norm("instance_norm", "", (2, 3, 4, 4), 3),
    norm("instance_norm", "last", (2, 4, 4, 3), 3, axis=-1, scale=False, epsilon=0.1),
    Sample("nn.l2_normalize", lambda x: nn.l2_normalize(x, 1e-3, [1]), ((2, 3, 4),)),
    Sample("nn.pad", lambda x: nn.pad(x, ((1, 0), (0, 2)), 1.5)),
    Sample("nn.pad", lambda x: nn.pad(x, ((1, 0), (1, 2)), pad_mode="reflect"), note="reflect"),
    Sample("nn.batch_flatten", nn.batch_flatten, ((2, 3, 4),)),
    Sample("expand_dims", lambda x: relay.expand_dims(x, -2, 2)),
    Sample("squeeze", relay.squeeze, ((1, 3, 1),)),
    Sample("squeeze", lambda x: relay.squeeze(x, -1), ((1, 3, 1),), note="axis"),
    Sample("reshape", lambda x: relay.reshape(x, (0, -4, -1, 3, -2)), ((2, 6, 4),)),
    Sample("transpose", relay.transpose, ((2, 3, 4),)),
    Sample("transpose", lambda x: relay.transpose(x, (0, -1, 1)), ((2, 3, 4),), note="axes"),
    Sample("concatenate", lambda x, y: relay.concatenate([x, y], -1), ((2, 3), (2, 4))),
    Sample("split", lambda x: relay.split(x, 3, axis=1), ((2, 6),)),
    Sample("split", lambda x: relay.split(x, (1, 4), axis=-1), ((2, 6),), note="cuts"),
    Sample("split", lambda x: relay.split(x, 1, axis=1), ((2, 6),), note="one part"),
    Sample("repeat", lambda x: relay.repeat(x, 3, -1)),
    Sample("zeros", lambda: relay.zeros((2, 3), "float32"), ()),
    Sample("ones", lambda: relay.ones((2, 3), "int32"), ()),
    Sample("full", lambda v: relay.full(v, (2, 3), "float32"), ((),)),
    Sample("zeros_like", relay.zeros_like),
    Sample("ones_like", relay.ones_like),
    *[
        Sample(n, partial(getattr(relay, n), axis=-1), ((2, 3, 4),))
        for n in ["sum", "mean", "max", "min", "prod"]
    ],
    Sample("sum", relay.sum, ((2, 3, 4),), note="all"),
    Sample("mean", lambda x: relay.mean(x, 1, True, True), ((2, 3, 4),), note="exclude"),
    Sample("variance", lambda x: relay.variance(x, 1), ((2, 3, 4),)),
    Sample(
        "variance", lambda x: relay.variance(x, 1, unbiased=True), ((2, 3, 4),), note="unbiased"
    ),
    Sample("annotation.compiler_begin", lambda x: relay.annotation.compiler_begin(x, "dnnl")),
    Sample("annotation.compiler_end", lambda x: relay.annotation.compiler_end(x, "dnnl")),
    Sample("annotation.stop_fusion", relay.annotation.stop_fusion),
    *NN_SAMPLES,
    *TENSOR_SAMPLES,
    *DEVICE_SAMPLES,
    *ARRAY_SAMPLES,
    *DYN_SAMPLES,
    *QNN_SAMPLES,
    *VISION_SAMPLES,
    *IMAGE_SAMPLES,
    *INDEX_SAMPLES,
]
