"""MobileNet v1, node for node as `tvm.relay.testing.mobilenet` builds it.

Source: Howard et al., "MobileNets", arXiv:1704.04861, table 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.relay import nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Function, var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.testing import layers
from byoc_lab.relay.testing.init import create_workload

# For each separable block: input channels, output channels, whether it halves the size.
BLOCKS = (
    (32, 64, False),
    (64, 128, True),
    (128, 128, False),
    (128, 256, True),
    (256, 256, False),
    (256, 512, True),
    *[(512, 512, False)] * 5,
    (512, 1024, True),
    (1024, 1024, False),
)
SHALLOW_BLOCKS = (*BLOCKS[:6], (512, 1024, True), (1024, 1024, True))


def conv_block(
    data: Expr,
    name: str,
    channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
) -> Expr:
    """Convolution, batch norm, relu. As in TVM, the batch norm is along axis 1 in any layout."""
    conv = layers.conv2d(
        data,
        name=f"{name}_conv",
        channels=channels,
        kernel_size=kernel_size,
        strides=strides,
        padding=padding,
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout),
    )
    return nn.relu(layers.batch_norm_infer(conv, name=f"{name}_bn", epsilon=epsilon))


def separable_conv_block(
    data: Expr,
    name: str,
    depthwise_channels: int,
    pointwise_channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    downsample: bool = False,
    padding: tuple[int, int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Expr:
    """Depthwise convolution, batch norm, relu; 1x1 convolution, batch norm, relu."""
    axis = layout.index("C")
    kernel_layout = layers.conv_kernel_layout(layout, is_depthwise=True)
    shape = (depthwise_channels, 1, *kernel_size)
    if kernel_layout == "HWOI":
        shape = (*kernel_size, depthwise_channels, 1)
    depthwise = layers.conv2d(
        data,
        var(f"{name}_weight", shape=shape, dtype=dtype),
        name=f"{name}_depthwise_conv1",
        channels=depthwise_channels,
        groups=depthwise_channels,
        kernel_size=kernel_size,
        strides=(2, 2) if downsample else (1, 1),
        padding=padding,
        data_layout=layout,
        kernel_layout=kernel_layout,
    )
    normal = layers.batch_norm_infer(depthwise, name=f"{name}_bn1", epsilon=epsilon, axis=axis)
    pointwise = layers.conv2d(
        nn.relu(normal),
        name=f"{name}_conv2",
        channels=pointwise_channels,
        kernel_size=(1, 1),
        strides=(1, 1),
        padding=(0, 0),
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout),
    )
    normal = layers.batch_norm_infer(pointwise, name=f"{name}_bn2", epsilon=epsilon, axis=axis)
    return nn.relu(normal)


def mobile_net(
    num_classes: int = 1000,
    data_shape: Sequence[int] = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> Function:
    """The network as a function of %data and its parameters.

    data_shape is in the order of `layout` ("NCHW" or "NHWC"); `alpha` scales all channel counts;
    the result is (batch, num_classes), each row summing to 1.
    """
    data = var("data", shape=data_shape, dtype=dtype)
    body = conv_block(data, "conv_block_1", int(32 * alpha), strides=(2, 2), layout=layout)
    for n, (inputs, outputs, downsample) in enumerate(SHALLOW_BLOCKS if is_shallow else BLOCKS, 1):
        body = separable_conv_block(
            body,
            f"separable_conv_block_{n}",
            int(inputs * alpha),
            int(outputs * alpha),
            downsample=downsample,
            layout=layout,
            dtype=dtype,
        )
    flat = nn.batch_flatten(nn.global_avg_pool2d(body, layout=layout))
    scores = nn.dense(flat, var("fc_weight"), units=num_classes)
    result = nn.softmax(nn.bias_add(scores, var("fc_bias")))
    return Function(free_vars(result), result)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name); image_shape is in the order of `layout`, no batch."""
    net = mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout)
    return create_workload(net)
