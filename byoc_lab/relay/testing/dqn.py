"""The deep Q network, node for node as `tvm.relay.testing.dqn` builds it.

Source: Mnih et al., "Human-level control through deep reinforcement learning", Nature 2015.
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.relay import nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Function, var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.testing import layers
from byoc_lab.relay.testing.init import create_workload

CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))  # channels, kernel size, stride


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Sequence[int] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """Images of `image_shape` (in the order of `layout`) to (batch_size, num_actions)."""
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for n, (channels, kernel, stride) in enumerate(CONVOLUTIONS, 1):
        conv = layers.conv2d(
            body,
            kernel_size=(kernel, kernel),
            strides=(stride, stride),
            padding=(0, 0),
            channels=channels,
            name=f"conv{n}",
            data_layout=layout,
            kernel_layout=layers.conv_kernel_layout(layout),
        )
        body = nn.relu(nn.bias_add(conv, var(f"conv{n}_bias"), layout.index("C")))
    body = nn.batch_flatten(body)
    body = nn.relu(layers.dense_add_bias(body, units=512, name="dense1"))
    result = layers.dense_add_bias(body, units=num_actions, name="dense2")
    return Function(free_vars(result), result)


def get_workload(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Sequence[int] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name)."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
