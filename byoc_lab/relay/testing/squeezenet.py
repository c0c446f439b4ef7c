"""SqueezeNet 1.0 and 1.1, node for node as `tvm.relay.testing.squeezenet` builds them.

Source: Iandola et al., "SqueezeNet", arXiv:1602.07360; TVM's 1.0 has one fire block less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.relay import nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Function, var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.op.framework.namespace import function
from byoc_lab.relay.testing import layers
from byoc_lab.relay.testing.init import create_workload

concatenate = function("concatenate")

# Squeezed channels and expanded channels of each fire block; None is a pooling.
FIRES = {
    "1.0": (16, 16, 32, None, 32, 48, 48, 64, None, 64),
    "1.1": (16, 16, None, 32, 32, None, 48, 48, 64, 64),
}


def _conv(data: Expr, channels: int, kernel: int, name: str, **attributes: Any) -> Expr:
    """Convolution, bias, relu."""
    conv = layers.conv2d(
        data, channels=channels, kernel_size=(kernel, kernel), name=name, **attributes
    )
    return nn.relu(nn.bias_add(conv, var(f"{name}_bias")))


def _fire(data: Expr, squeezed: int, expanded: int, prefix: str) -> Expr:
    """Few channels, then many twice: by a 1x1 and by a 3x3 convolution."""
    few = _conv(data, squeezed, 1, f"{prefix}_input_conv", padding=(0, 0))
    left = _conv(few, expanded, 1, f"{prefix}_left_conv", padding=(0, 0))
    right = _conv(few, expanded, 3, f"{prefix}_right_conv", padding=(1, 1))
    return concatenate((left, right), axis=1)


def get_net(
    batch_size: int, image_shape: Sequence[int], num_classes: int, version: str, dtype: str
) -> Function:
    """Images of `image_shape` (channels, height, width) to (batch_size, num_classes).

    Raises ValueError for a version that is neither "1.0" nor "1.1".
    """
    if version not in FIRES:
        raise ValueError(f"version must be one of {', '.join(FIRES)}, found {version!r}")
    body: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    if version == "1.0":
        body = _conv(body, 96, 7, "conv1", strides=(2, 2), padding=(3, 3))
    else:
        body = _conv(body, 64, 3, "conv1", strides=(2, 2), padding=(1, 1))
    number = 0
    for squeezed in (None, *FIRES[version]):
        if squeezed is None:
            body = nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2))
        else:
            number += 1
            body = _fire(body, squeezed, 4 * squeezed, f"fire{number}")
    body = nn.dropout(body, rate=0.5)
    body = _conv(body, num_classes, 1, "conv_final")
    result = nn.softmax(nn.batch_flatten(nn.global_avg_pool2d(body)))
    return Function(free_vars(result), result)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name)."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
