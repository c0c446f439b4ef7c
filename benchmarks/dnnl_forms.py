"""What DNNL accepts, as functions of one tensor at sizes of real networks: operators alone, and
behind a convolution, in the layout that a network begins with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import nn


def x(*shape: int, dtype: str = "float32") -> Any:
    return relay.var("x", shape=shape, dtype=dtype)


def w(*shape: int) -> Any:
    values = np.random.default_rng(0).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    return relay.const(values.astype(np.float32))


def conv(channels: int = 64, size: int = 56, layout: str = "NCHW") -> Any:
    if layout == "NHWC":
        taps = relay.const(np.full((1, 1, channels, channels), 0.01, np.float32))
        data = x(1, size, size, channels)
        return nn.conv2d(data, taps, data_layout="NHWC", kernel_layout="HWIO")
    return nn.conv2d(x(1, channels, size, size), w(channels, channels, 1, 1))


def number(value: float) -> Any:
    return relay.const(np.float32(value))


def hard_swish(v: Any) -> Any:
    return v * relay.clip(v + number(3), 0.0, 6.0) / number(6)


def excited(data: Any) -> Any:
    return data * relay.sigmoid(nn.global_avg_pool2d(data))


def residual(data: Any) -> Any:
    return nn.relu(data + data.args[0])


def gelu(v: Any) -> Any:
    return v * (relay.erf(v / number(2**0.5)) + number(1)) * number(0.5)


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
    "hard-swish, conv": lambda: hard_swish(conv()),
    "hard-sigmoid, conv": lambda: relay.clip(conv() + number(3), 0.0, 6.0) * number(1 / 6),
    "add a number": lambda: nn.relu(conv() + number(3)) + number(1),
    "multiply by channels": lambda: conv() * w(64, 1, 1),
    "squeeze and excitation": lambda: excited(conv()),
    "residual sum": lambda: residual(conv()),
    "gelu, dense": lambda: gelu(nn.dense(x(128, 768), w(3072, 768))),
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
for _name in UNARY:
    _build = getattr(nn if _name.startswith("nn.") else relay, _name.removeprefix("nn."))
    FORMS[f"{_name} alone"] = lambda build=_build: build(relay.abs(x(*IMAGE)) + number(0.1))
    FORMS[f"{_name}, conv"] = lambda build=_build: build(conv())
