"""Inception v3, node for node as `tvm.relay.testing.inception_v3` builds it.

Source: Szegedy et al., "Rethinking the Inception Architecture", arXiv:1512.00567. A block is a few
towers side by side, each a chain of convolutions, concatenated at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.relay import nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Function, var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.op.framework.namespace import function
from byoc_lab.relay.testing import layers
from byoc_lab.relay.testing.init import create_workload

Pair = tuple[int, int]
concatenate = function("concatenate")


def _conv(
    data: Expr,
    channels: int,
    kernel: Pair = (1, 1),
    stride: int = 1,
    pad: Pair = (0, 0),
    *,
    name: str,
) -> Expr:
    """Convolution, batch norm without scale, relu."""
    conv = layers.conv2d(
        data,
        channels=channels,
        kernel_size=kernel,
        strides=(stride, stride),
        padding=pad,
        name=f"{name}_conv1",
    )
    return nn.relu(layers.batch_norm_infer(conv, epsilon=2e-5, scale=False, name=f"{name}_bn"))


def _pool(data: Expr, kind: str, size: int = 3, stride: int = 1, pad: int = 1) -> Expr:
    window, step, around = (size, size), (stride, stride), (pad, pad)
    if kind == "max":
        return nn.max_pool2d(data, window, step, padding=around)
    return nn.avg_pool2d(data, window, step, padding=around, count_include_pad=True)


def _tower(data: Expr, name: str, *steps: tuple[int, Pair, int, Pair]) -> Expr:
    """A chain of convolutions (channels, kernel, stride, padding): `_conv`, `_conv_1`, ..."""
    for n, (channels, kernel, stride, pad) in enumerate(steps):
        suffix = f"_conv_{n}" if n else "_conv"
        data = _conv(data, channels, kernel, stride, pad, name=name + suffix)
    return data


def _same(channels: int, kernel: Pair) -> tuple[int, Pair, int, Pair]:
    """A convolution that keeps the size."""
    return channels, kernel, 1, (kernel[0] // 2, kernel[1] // 2)


def _half(channels: int) -> tuple[int, Pair, int, Pair]:
    """A convolution that halves the size."""
    return channels, (3, 3), 2, (0, 0)


ONE, ROW, COLUMN = (1, 1), (1, 7), (7, 1)


def _block_a(data: Expr, projected: int, name: str) -> Expr:
    single = _conv(data, 64, name=f"{name}_conv")
    five = _tower(data, f"{name}_tower", _same(48, ONE), _same(64, (5, 5)))
    steps = _same(64, ONE), _same(96, (3, 3)), _same(96, (3, 3))
    three = _tower(data, f"{name}_tower_1", *steps)
    pooled = _conv(_pool(data, "avg"), projected, name=f"{name}_tower_2_conv")
    return concatenate((single, five, three, pooled), axis=1)


def _block_b(data: Expr, name: str) -> Expr:
    three = _conv(data, 384, (3, 3), 2, name=f"{name}_conv")
    double = _tower(data, f"{name}_tower", _same(64, ONE), _same(96, (3, 3)), _half(96))
    pooled = _pool(data, "max", 3, 2, 0)
    return concatenate((three, double, pooled), axis=1)


def _block_c(data: Expr, inside: int, name: str) -> Expr:
    single = _conv(data, 192, name=f"{name}_conv")
    steps = _same(inside, ONE), _same(inside, ROW), _same(192, COLUMN)
    seven = _tower(data, f"{name}_tower", *steps)
    chain = [_same(inside, kernel) for kernel in (ONE, COLUMN, ROW, COLUMN)]
    twice = _tower(data, f"{name}_tower_1", *chain, _same(192, ROW))
    pooled = _conv(_pool(data, "avg"), 192, name=f"{name}_tower_2_conv")
    return concatenate((single, seven, twice, pooled), axis=1)


def _block_d(data: Expr, name: str) -> Expr:
    three = _tower(data, f"{name}_tower", _same(192, ONE), _half(320))
    chain = [_same(192, kernel) for kernel in (ONE, ROW, COLUMN)]
    seven = _tower(data, f"{name}_tower_1", *chain, _half(192))
    return concatenate((three, seven, _pool(data, "max", 3, 2, 0)), axis=1)


def _block_e(data: Expr, pool: str, name: str) -> Expr:
    def spread(body: Expr, tower: str) -> tuple[Expr, Expr]:
        row = _conv(body, 384, (1, 3), 1, (0, 1), name=f"{tower}_mixed_conv")
        return row, _conv(body, 384, (3, 1), 1, (1, 0), name=f"{tower}_mixed_conv_1")

    single = _conv(data, 320, name=f"{name}_conv")
    first = _tower(data, f"{name}_tower", _same(384, ONE))
    second = _tower(data, f"{name}_tower_1", _same(448, ONE), _same(384, (3, 3)))
    towers = *spread(first, f"{name}_tower"), *spread(second, f"{name}_tower_1")
    pooled = _conv(_pool(data, pool), 192, name=f"{name}_tower_2_conv")
    return concatenate((single, *towers, pooled), axis=1)


def get_net(batch_size: int, num_classes: int, image_shape: Sequence[int], dtype: str) -> Function:
    """Images of `image_shape` (channels, height, width) to (batch_size, num_classes)."""
    body: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = _conv(body, 32, (3, 3), 2, name="conv")
    body = _conv(body, 32, (3, 3), name="conv_1")
    body = _conv(body, 64, (3, 3), 1, (1, 1), name="conv_2")
    body = _pool(body, "max", 3, 2, 0)
    body = _conv(body, 80, name="conv_3")
    body = _conv(body, 192, (3, 3), name="conv_4")
    body = _pool(body, "max", 3, 2, 0)
    for name, projected in (("mixed", 32), ("mixed_1", 64), ("mixed_2", 64)):
        body = _block_a(body, projected, name)
    body = _block_b(body, "mixed_3")
    for n, inside in enumerate((128, 160, 160, 192), 4):
        body = _block_c(body, inside, f"mixed_{n}")
    body = _block_d(body, "mixed_8")
    body = _block_e(body, "avg", "mixed_9")
    body = _block_e(body, "max", "mixed_10")
    body = nn.batch_flatten(_pool(body, "avg", 8, 1, 0))
    scores = nn.dense(body, var("fc1_weight"), units=num_classes)
    result = nn.softmax(nn.bias_add(scores, var("fc2_bias"), axis=-1))
    return Function(free_vars(result), result)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 299, 299),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name)."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
