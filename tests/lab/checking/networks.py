"""The networks in which tests plant faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.testing import mobilenet, resnet
from byoc_lab.relay.typing.infer import infer_module


def random(*shape: int, seed: int = 0, offset: float = 0) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape) + offset
    return values.astype(np.float32)


def weight(*shape: int, seed: int = 0) -> relay.Constant:
    """Random weights that keep the magnitude of their operand."""
    fan = int(np.prod(shape[1:])) or 1
    return relay.const(random(*shape, seed=seed) * np.float32(np.sqrt(2 / fan)))


def mobile_net(size: int = 32) -> IRModule:
    return _bound(*mobilenet.get_workload(image_shape=(3, size, size), num_classes=10))


def resnet_18(size: int = 32) -> IRModule:
    return _bound(*resnet.get_workload(num_layers=18, image_shape=(3, size, size), num_classes=10))


def _bound(mod: IRModule, params: dict[str, Any]) -> IRModule:
    """Binds vectors that make faults visible: a different scale, shift, mean and variance per
    channel."""
    for n, (name, value) in enumerate(params.items()):
        if len(value.shape) == 1:
            around = 1.0 if "gamma" in name or "var" in name else 0.0
            drawn = np.random.default_rng(n).uniform(-0.3, 0.3, value.shape) + around
            params[name] = drawn.astype("float32")
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    return infer_module(mod)


def small_net() -> IRModule:
    """Convolutions in two branches, concatenate, pooling, slices, dense, softmax."""
    x = relay.var("x", shape=(1, 3, 16, 16))
    body = nn.conv2d(x, weight(8, 3, 3, 3, seed=1), strides=2, padding=(0, 0, 1, 1))
    body = nn.relu(nn.bias_add(body, relay.const(random(8, seed=2))))
    vectors = [relay.const(random(8, seed=n, offset=0.5)) for n in (3, 4, 5)]
    variance = relay.const(np.abs(random(8, seed=6)) * np.float32(0.01) + np.float32(0.01))
    left = nn.batch_norm(nn.conv2d(body, weight(8, 8, 3, 3, seed=7), padding=1), *vectors, variance)
    right = nn.bias_add(nn.conv2d(body, weight(8, 8, 1, 1, seed=8)), relay.const(random(8, seed=9)))
    both = relay.concatenate([relay.clip(left[0] * relay.const(3.0), 0, 6), right], axis=1)
    pooled = nn.max_pool2d(relay.nn.leaky_relu(both, 0.1), (2, 2), (2, 2))
    mean = nn.avg_pool2d(pooled - relay.const(0.25), (2, 2), (2, 2), padding=(0, 0, 0, 0))
    cut = relay.strided_slice(mean, [0, 0, 0, 0], [1, 12, 2, 2])
    scores = nn.dense(nn.batch_flatten(cut), weight(6, 48, seed=10))
    scores = nn.relu(
        nn.bias_add(scores, relay.const(random(6, seed=11) * np.float32(9)))
    ) - relay.const(random(1, 6, seed=12))
    return infer_module(IRModule.from_expr(Function([x], nn.softmax(scores))))


def quantized_net() -> IRModule:
    """int8: quantize, two convolutions with requantize, a dense layer, dequantize.

    Scales are powers of two, so that ties of requantize occur.
    """
    q = relay.qnn.op
    x = relay.var("x", shape=(1, 3, 8, 8))
    zero, one = relay.const(0, "int32"), relay.const

    def weights(*shape: int, seed: int) -> relay.Constant:
        return relay.const(np.random.default_rng(seed).integers(-80, 81, shape).astype("int8"))

    body = q.quantize(x, one(2.0**-5), relay.const(3, "int32"), out_dtype="int8")
    scale, point = 2.0**-5, relay.const(3, "int32")
    for n, (channels, size) in enumerate(((8, 3), (8, 1))):
        inner = 3 if n == 0 else 8
        conv = q.conv2d(
            body, weights(channels, inner, size, size, seed=n), point, zero, one(scale),
            one(2.0**-6), (size, size), channels, padding=(size // 2, size // 2),
        )  # fmt: skip
        bias = np.random.default_rng(n + 9).integers(-900, 900, channels).astype("int32")
        conv = nn.bias_add(conv, relay.const(bias))
        body = q.requantize(
            conv,
            one(scale * 2.0**-6),
            zero,
            one(2.0**-4),
            relay.const(-5, "int32"),
            out_dtype="int8",
        )
        scale, point = 2.0**-4, relay.const(-5, "int32")
    real = q.dequantize(body, one(scale), point)
    scores = nn.dense(nn.batch_flatten(real), weight(5, 512, seed=5))
    return infer_module(IRModule.from_expr(Function([x], nn.relu(scores))))


NETWORKS: dict[str, Callable[[], IRModule]] = {
    "mobilenet": mobile_net,
    "resnet-18": resnet_18,
    "small": small_net,
    "int8": quantized_net,
}
