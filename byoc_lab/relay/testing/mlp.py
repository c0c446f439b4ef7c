"""A perceptron of three layers, node for node as `tvm.relay.testing.mlp` builds it."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.relay import nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Function, var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.testing import layers
from byoc_lab.relay.testing.init import create_workload


def get_net(
    batch_size: int,
    num_classes: int = 10,
    image_shape: Sequence[int] = (1, 28, 28),
    dtype: str = "float32",
) -> Function:
    """Images of `image_shape` (channels, height, width) to (batch_size, num_classes)."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = nn.batch_flatten(data)
    body = nn.relu(layers.dense_add_bias(body, units=128, name="fc1"))
    body = nn.relu(layers.dense_add_bias(body, units=64, name="fc2"))
    result = nn.softmax(layers.dense_add_bias(body, units=num_classes, name="fc3"))
    return Function(free_vars(result), result)


def get_workload(
    batch_size: int,
    num_classes: int = 10,
    image_shape: Sequence[int] = (1, 28, 28),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name)."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
