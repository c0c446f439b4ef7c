"""LeNet-5, for images of 28x28. TVM has no such module: this one is byoc_lab's own.

This is the form common today: average pooling without weights, every feature map of the second
convolution connected to all feature maps of the first, softmax instead of radial basis functions.
The first convolution pads the image to the paper's 32x32.
Source: LeCun, Bottou, Bengio and Haffner, "Gradient-Based Learning Applied to Document
Recognition", 1998, figure 2.
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

tanh = function("tanh")


def convolution(data: Expr, channels: int, padding: int, name: str) -> Expr:
    """Convolution of 5x5 with bias, and tanh."""
    body = layers.conv2d(
        data, channels=channels, kernel_size=(5, 5), padding=(padding, padding), name=name
    )
    return tanh(nn.bias_add(body, var(f"{name}_bias")))


def get_net(
    batch_size: int,
    num_classes: int = 10,
    image_shape: Sequence[int] = (1, 28, 28),
    dtype: str = "float32",
) -> Function:
    """Images of `image_shape` (channels, height, width) to (batch_size, num_classes)."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = convolution(data, 6, padding=2, name="conv1")
    body = nn.avg_pool2d(body, pool_size=(2, 2), strides=(2, 2))
    body = convolution(body, 16, padding=0, name="conv2")
    body = nn.avg_pool2d(body, pool_size=(2, 2), strides=(2, 2))
    body = nn.batch_flatten(body)
    body = tanh(layers.dense_add_bias(body, units=120, name="fc1"))
    body = tanh(layers.dense_add_bias(body, units=84, name="fc2"))
    result = nn.softmax(layers.dense_add_bias(body, units=num_classes, name="fc3"))
    return Function(free_vars(result), result)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 10,
    image_shape: Sequence[int] = (1, 28, 28),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name)."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
