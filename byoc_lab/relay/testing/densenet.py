"""DenseNet, node for node as `tvm.relay.testing.densenet` builds it.

Source: Huang et al., "Densely Connected Convolutional Networks", arXiv:1608.06993. In TVM the input
of a layer is the previous layer only; the layers of a block are concatenated once, at its end.
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

concatenate = function("concatenate")

# Initial channels, channels that a layer adds, layers of each block. The 69 is as in TVM.
SIZES = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (69, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
BOTTLENECK = 4


def _norm_relu(data: Expr, name: str) -> Expr:
    return nn.relu(layers.batch_norm_infer(data, name=name))


def _dense_layer(data: Expr, growth: int, index: str) -> Expr:
    body = _norm_relu(data, f"batch_1_{index}")
    body = layers.conv2d(
        body, channels=BOTTLENECK * growth, kernel_size=(1, 1), name=f"conv2d_1_{index}"
    )
    body = _norm_relu(body, f"batch_2_{index}")
    return layers.conv2d(
        body, channels=growth, kernel_size=(3, 3), padding=(1, 1), name=f"conv2d_2_{index}"
    )


def _dense_block(data: Expr, count: int, growth: int, index: int) -> Expr:
    made: list[Expr] = []
    for n in range(count):
        data = _dense_layer(data, growth, f"{index}_{n}")
        made.append(data)
    return concatenate(made, 1)


def _transition(data: Expr, channels: int, index: int) -> Expr:
    """A layer with fewer channels and half the image size."""
    body = _norm_relu(data, f"batch_t_{index}")
    body = layers.conv2d(body, channels=channels, kernel_size=(1, 1), name=f"conv_t_{index}")
    return nn.avg_pool2d(body, pool_size=(2, 2), strides=(2, 2))


def get_net(
    densenet_size: int, classes: int, batch_size: int, image_shape: Sequence[int], dtype: str
) -> Function:
    """Images of `image_shape` (channels, height, width) to (batch_size, classes).

    Raises ValueError for an unsupported size.
    """
    if densenet_size not in SIZES:
        raise ValueError(
            f"densenet_size must be one of {', '.join(map(str, SIZES))}: {densenet_size}"
        )
    features, growth, blocks = SIZES[densenet_size]
    body: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = layers.conv2d(
        body, channels=features, kernel_size=(7, 7), strides=(2, 2), padding=(3, 3), name="conv1"
    )
    body = _norm_relu(body, "batch1")
    body = nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for i, count in enumerate(blocks):
        body = _dense_block(body, count, growth, i)
        features += count * growth
        if i != len(blocks) - 1:
            features //= 2
            body = _transition(body, features, i)
    body = _norm_relu(body, "batch2")
    body = nn.batch_flatten(nn.avg_pool2d(body, pool_size=(7, 7)))
    result = layers.dense_add_bias(body, units=classes, name="dense")
    return Function(free_vars(result), result)


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name)."""
    return create_workload(get_net(densenet_size, classes, batch_size, image_shape, dtype))
