"""The operators that DNNL accepts, as functions of one tensor with sizes of real networks: alone
and after a convolution, in the initial layout of a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import nn
from byoc_lab.relay.qnn import op as qnn


def x(*shape: int, dtype: str = "float32") -> Any:
    return relay.var("x", shape=shape, dtype=dtype)


def w(*shape: int, dtype: str = "float32") -> Any:
    values = np.random.default_rng(0).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    return relay.const(values.astype(np.float32), dtype)


def w8(*shape: int) -> Any:
    return relay.const(np.random.default_rng(0).integers(-127, 128, shape).astype(np.int8))


def conv(channels: int = 64, size: int = 56, layout: str = "NCHW", dtype: str = "float32") -> Any:
    if layout == "NHWC":
        taps = relay.const(np.full((1, 1, channels, channels), 0.01, np.float32))
        data = x(1, size, size, channels)
        return nn.conv2d(data, taps, data_layout="NHWC", kernel_layout="HWIO")
    return nn.conv2d(
        x(1, channels, size, size, dtype=dtype), w(channels, channels, 1, 1, dtype=dtype)
    )


def number(value: float) -> Any:
    return relay.const(np.float32(value))


def zero() -> Any:
    return relay.const(np.int32(0))


def qconv(data: Any, channels: int, taps: int = 1, groups: int = 1) -> Any:
    """An 8-bit convolution, requantized to 8 bits."""
    scales = zero(), zero(), number(0.02), number(0.01)
    found = qnn.conv2d(
        data, w8(channels, data.type_annotation.concrete_shape[1] // groups, taps, taps), *scales,
        kernel_size=(taps, taps), channels=channels, groups=groups,
        padding=(taps // 2, taps // 2), out_dtype="int32",
    )  # fmt: skip
    return requantized(found)


def qdense(rows: int, units: int, reduced: int) -> Any:
    data = x(rows, reduced, dtype="int8")
    scales = zero(), zero(), number(0.02), number(0.01)
    return requantized(qnn.dense(data, w8(units, reduced), *scales, units=units))


def requantized(found: Any) -> Any:
    return qnn.requantize(found, number(0.0002), zero(), number(0.05), zero(), out_dtype="int8")


def hard_swish(v: Any) -> Any:
    return v * relay.clip(v + number(3), 0.0, 6.0) / number(6)


def excited(data: Any) -> Any:
    return data * relay.sigmoid(nn.global_avg_pool2d(data))


def residual(data: Any) -> Any:
    return nn.relu(data + data.args[0])


def gelu(v: Any) -> Any:
    return v * (relay.erf(v / number(2**0.5)) + number(1)) * number(0.5)


def gelu_of_halves(v: Any) -> Any:
    return v * (number(0.5) + number(0.5) * relay.erf(v * number(0.5**0.5)))


def resized(size: int, method: str, channels: int = 64, layout: str = "NCHW") -> Any:
    return relay.image.resize2d(
        conv(channels, 28, layout), (size, size), layout=layout, method=method,
        coordinate_transformation_mode="half_pixel", rounding_method="round",
    )  # fmt: skip


IMAGE = (1, 64, 56, 56)
WINDOW: dict[str, Any] = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1)}
CUBE: dict[str, Any] = {"pool_size": (2, 2, 2), "strides": (2, 2, 2)}
UNARY = ("nn.relu", "tanh", "sigmoid", "exp", "log", "sqrt", "abs", "round")
FORMS: dict[str, Callable[[], Any]] = {
    "max_pool2d": lambda: nn.max_pool2d(x(*IMAGE), **WINDOW),
    "max_pool2d of 3 channels": lambda: nn.max_pool2d(x(1, 3, 224, 224), **WINDOW),
    "avg_pool2d": lambda: nn.avg_pool2d(x(*IMAGE), **WINDOW),
    "max_pool2d, conv": lambda: nn.max_pool2d(conv(), **WINDOW),
    "global_avg_pool2d": lambda: nn.global_avg_pool2d(x(*IMAGE)),
    "max_pool2d, NHWC": lambda: nn.max_pool2d(x(1, 56, 56, 64), layout="NHWC", **WINDOW),
    "max_pool3d": lambda: nn.max_pool3d(x(1, 16, 16, 28, 28), **CUBE),
    "softmax of rows": lambda: nn.softmax(x(512, 512)),
    "softmax on axis 1": lambda: nn.softmax(x(1, 64, 56, 56), axis=1),
    "softmax, conv": lambda: nn.softmax(conv(), axis=1),
    "hard-swish": lambda: hard_swish(x(*IMAGE)),
    "hard-swish, conv": lambda: hard_swish(conv()),
    "hard-sigmoid, conv": lambda: relay.clip(conv() + number(3), 0.0, 6.0) * number(1 / 6),
    "add a number": lambda: nn.relu(conv() + number(3)) + number(1),
    "multiply by channels": lambda: conv() * w(64, 1, 1),
    "squeeze and excitation": lambda: excited(conv()),
    "residual sum": lambda: residual(conv()),
    "gelu, dense": lambda: gelu(nn.dense(x(128, 768), w(3072, 768))),
    "gelu of halves": lambda: gelu_of_halves(x(128, 3072)),
    "gelu of halves, dense": lambda: gelu_of_halves(nn.dense(x(128, 768), w(3072, 768))),
    "resize2d to twice the size": lambda: resized(56, "nearest_neighbor"),
    "resize2d to 4 times the size, 24 channels": lambda: resized(112, "nearest_neighbor", 24),
    "resize2d to half the size": lambda: resized(14, "linear"),
    "resize2d linear": lambda: resized(56, "linear"),
    "resize2d linear, 12 channels": lambda: resized(75, "linear", 12),
    "resize2d linear, NHWC": lambda: resized(56, "linear", layout="NHWC"),
    "layer_norm": lambda: nn.layer_norm(x(128, 768), w(768), w(768)),
    "layer_norm, dense": lambda: nn.layer_norm(nn.dense(x(128, 768), w(768, 768)), w(768), w(768)),
    "batch_matmul": lambda: nn.batch_matmul(x(12, 128, 64), w(12, 128, 64)),
    "dense": lambda: nn.dense(x(1, 2048), w(1000, 2048)),
    "conv2d of 3 channels": lambda: nn.conv2d(
        x(1, 3, 224, 224), w(64, 3, 7, 7), strides=(2, 2), padding=(3, 3)
    ),
    "conv2d depthwise": lambda: nn.conv2d(
        x(1, 96, 56, 56), w(96, 1, 3, 3), groups=96, padding=(1, 1)
    ),
    "conv2d of 5 groups": lambda: nn.conv2d(
        x(1, 60, 28, 28), w(60, 12, 3, 3), groups=5, padding=(1, 1)
    ),
    "conv2d dilated": lambda: nn.conv2d(
        x(1, 64, 28, 28), w(64, 64, 3, 3), dilation=(2, 2), padding=(2, 2)
    ),
    "conv1d": lambda: nn.conv1d(x(1, 64, 1024), w(64, 64, 3), padding=(1,)),
    "conv3d": lambda: nn.conv3d(x(1, 16, 8, 28, 28), w(16, 16, 3, 3, 3), padding=(1, 1, 1)),
    "conv2d_transpose": lambda: nn.conv2d_transpose(
        x(1, 64, 28, 28), w(64, 32, 2, 2), strides=(2, 2), channels=32, kernel_size=(2, 2)
    ),
    "relu, conv NHWC": lambda: nn.relu(conv(layout="NHWC")),
}  # fmt: skip
QUANTIZED: dict[str, Callable[[], Any]] = {
    "qnn.conv2d of 3 channels": lambda: qconv(x(1, 3, 224, 224, dtype="uint8"), 64, 7),
    "qnn.conv2d 1 by 1": lambda: qconv(x(1, 64, 56, 56, dtype="int8"), 64),
    "qnn.conv2d 3 by 3": lambda: qconv(x(1, 64, 28, 28, dtype="uint8"), 64, 3),
    "qnn.conv2d depthwise": lambda: qconv(x(1, 96, 56, 56, dtype="uint8"), 96, 3, 96),
    "qnn.dense": lambda: qdense(128, 768, 768),
    "qnn.dense of one row": lambda: qdense(1, 1000, 2048),
    "qnn.quantize": lambda: qnn.quantize(x(*IMAGE), number(0.02), zero(), out_dtype="int8"),
    "qnn.dequantize": lambda: qnn.dequantize(x(*IMAGE, dtype="int8"), number(0.02), zero()),
    "qnn.requantize": lambda: requantized(x(*IMAGE, dtype="int32")),
    "qnn.add": lambda: qnn.add(
        x(*IMAGE, dtype="int8"), w8(*IMAGE), number(0.02), zero(), number(0.03), zero(),
        number(0.05), zero(),
    ),
    "max_pool2d, uint8": lambda: nn.max_pool2d(x(*IMAGE, dtype="uint8"), **WINDOW),
    "max_pool2d of 3 channels, int8": lambda: nn.max_pool2d(
        x(1, 3, 224, 224, dtype="int8"), **WINDOW
    ),
    "max_pool2d, qnn.conv2d": lambda: nn.max_pool2d(
        qconv(x(1, 64, 56, 56, dtype="uint8"), 64), **WINDOW
    ),
    "concatenate, qnn.conv2d": lambda: relay.concatenate(
        [qconv(x(1, 64, 56, 56, dtype="uint8"), 64) for _ in range(2)], 1
    ),
}  # fmt: skip
HALF: dict[str, Callable[[], Any]] = {
    "conv2d": lambda: conv(dtype="bfloat16"),
    "relu, conv": lambda: nn.relu(conv(dtype="bfloat16")),
    "relu": lambda: nn.relu(x(*IMAGE, dtype="bfloat16")),
    "tanh": lambda: relay.tanh(x(*IMAGE, dtype="bfloat16")),
    "sigmoid": lambda: relay.sigmoid(x(*IMAGE, dtype="bfloat16")),
    "max_pool2d": lambda: nn.max_pool2d(x(*IMAGE, dtype="bfloat16"), **WINDOW),
    "avg_pool2d": lambda: nn.avg_pool2d(x(*IMAGE, dtype="bfloat16"), **WINDOW),
    "global_avg_pool2d": lambda: nn.global_avg_pool2d(x(*IMAGE, dtype="bfloat16")),
    "softmax of rows": lambda: nn.softmax(x(512, 512, dtype="bfloat16")),
    "softmax on axis 1": lambda: nn.softmax(x(*IMAGE, dtype="bfloat16"), axis=1),
    "dense": lambda: nn.dense(x(128, 768, dtype="bfloat16"), w(768, 768, dtype="bfloat16")),
    "batch_matmul": lambda: nn.batch_matmul(
        x(12, 128, 64, dtype="bfloat16"), w(12, 128, 64, dtype="bfloat16")
    ),
    "conv2d depthwise": lambda: nn.conv2d(
        x(1, 96, 56, 56, dtype="bfloat16"), w(96, 1, 3, 3, dtype="bfloat16"),
        groups=96, padding=(1, 1),
    ),
    "add": lambda: x(*IMAGE, dtype="bfloat16") + w(*IMAGE, dtype="bfloat16"),
}  # fmt: skip
# Operands that broadcast along axes other than the channel axis.
SIDES = {
    "a row": (56,), "a plane": (56, 56), "rows": (64, 56, 1), "columns": (64, 1, 56),
    "a plane of one channel": (1, 1, 56, 56),
}  # fmt: skip
BROADCAST: dict[str, Callable[[str], Any]] = {
    "": lambda dtype: x(*IMAGE, dtype=dtype),
    ", conv": lambda dtype: conv(dtype=dtype),
    ", max_pool2d": lambda dtype: nn.max_pool2d(
        x(*IMAGE, dtype=dtype), pool_size=(3, 3), padding=(1, 1)
    ),
    ", softmax": lambda dtype: nn.softmax(x(*IMAGE, dtype=dtype), axis=1),
}
# Windows with gaps, and channels that fill no blocks.
POOLS: dict[str, dict[str, Any]] = {
    "": {"strides": (2, 2), "padding": (1, 1)},
    " dilated": {"dilation": (2, 2)},
}
FORMS |= QUANTIZED
FORMS |= {f"{name}, bfloat16": build for name, build in HALF.items()}
for _name in UNARY:
    _build = getattr(nn if _name.startswith("nn.") else relay, _name.removeprefix("nn."))
    FORMS[f"{_name} alone"] = lambda build=_build: build(relay.abs(x(*IMAGE)) + number(0.1))
    FORMS[f"{_name}, conv"] = lambda build=_build: build(conv())
for _dtype, _end in (("float32", ""), ("bfloat16", ", bfloat16")):
    for _side, _shape in SIDES.items():
        for _after, _before in BROADCAST.items():
            FORMS[f"multiply by {_side}{_after}{_end}"] = (
                lambda shape=_shape, before=_before, dtype=_dtype: (
                    before(dtype) * w(*shape, dtype=dtype)
                )
            )
    for _channels in (1, 3, 12, 64):
        _image = (1, _channels, 112, 112)
        for _kind, _attrs in POOLS.items():
            for _pool in (nn.max_pool2d, nn.avg_pool2d):
                FORMS[f"{_pool.__name__}{_kind} of {_channels}{_end}"] = (
                    lambda pool=_pool, shape=_image, dtype=_dtype, attrs=_attrs: pool(
                        x(*shape, dtype=dtype), pool_size=(3, 3), **attrs
                    )
                )
