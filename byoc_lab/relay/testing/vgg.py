"""VGG with 11, 13, 16 or 19 layers, node for node as `tvm.relay.testing.vgg` builds it.

Source: Simonyan and Zisserman, "Very Deep Convolutional Networks", arXiv:1409.1556, table 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.relay import nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Function, var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.testing import layers as wrapper
from byoc_lab.relay.testing.init import create_workload

# The number of convolutions in each of the five stages, by the number of layers.
STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
FILTERS = (64, 128, 256, 512, 512)


def get_feature(
    internal_layer: Expr, layers: Sequence[int], filters: Sequence[int], batch_norm: bool = False
) -> Expr:
    """For each stage: its convolutions with bias and relu, then pooling to half the size."""
    body = internal_layer
    for i, (count, channels) in enumerate(zip(layers, filters, strict=True), 1):
        for j in range(1, count + 1):
            name = f"conv{i}_{j}"
            body = wrapper.conv2d(
                body, kernel_size=(3, 3), padding=(1, 1), channels=channels, name=name
            )
            body = nn.bias_add(body, var(f"{name}_bias"))
            if batch_norm:
                body = wrapper.batch_norm_infer(body, name=f"bn{i}_{j}")
            body = nn.relu(body)
        body = nn.max_pool2d(body, pool_size=(2, 2), strides=(2, 2))
    return body


def get_classifier(input_data: Expr, num_classes: int) -> Expr:
    """Two hidden dense layers with dropout, and the scores."""
    body = nn.batch_flatten(input_data)
    for name in ("fc6", "fc7"):
        body = nn.relu(wrapper.dense_add_bias(body, units=4096, name=name))
        body = nn.dropout(body, rate=0.5)
    return wrapper.dense_add_bias(body, units=num_classes, name="fc8")


def get_net(
    batch_size: int,
    image_shape: Sequence[int],
    num_classes: int,
    dtype: str,
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Function:
    """Images of `image_shape` (channels, height, width) to (batch_size, num_classes).

    Raises ValueError for an unsupported number of layers.
    """
    if num_layers not in STAGES:
        raise ValueError(f"num_layers must be one of {', '.join(map(str, STAGES))}: {num_layers}")
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    feature = get_feature(data, STAGES[num_layers], FILTERS, batch_norm)
    result = nn.softmax(get_classifier(feature, num_classes))
    return Function(free_vars(result), result)


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name)."""
    net = get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm)
    return create_workload(net)
