"""ResNet v2, node for node as `tvm.relay.testing.resnet` builds it.

Source: He et al., "Identity Mappings in Deep Residual Networks", arXiv:1603.05027: batch norm and
relu come before each convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.relay import nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Function, var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.testing import layers
from byoc_lab.relay.testing.init import create_workload

# Residual units of each of the four stages for images larger than 28x28, by number of layers.
UNITS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}
EPSILON = 2e-5


def residual_unit(
    data: Expr,
    num_filter: int,
    stride: Sequence[int],
    dim_match: bool,
    name: str,
    bottle_neck: bool = True,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
) -> Expr:
    """Convolutions of normalised data, added to a shortcut.

    With `dim_match` the shortcut is the data, else a 1x1 convolution of it. A bottleneck has
    convolutions of 1x1, 3x3, 1x1, with a quarter of the channels inside; a unit without bottleneck
    has two 3x3 convolutions.
    """
    layout: dict[str, Any] = {"data_layout": data_layout, "kernel_layout": kernel_layout}
    few = int(num_filter * 0.25)
    chain = (
        ((few, 1, stride), (few, 3, (1, 1)), (num_filter, 1, (1, 1)))
        if bottle_neck
        else ((num_filter, 3, stride), (num_filter, 3, (1, 1)))
    )
    body, first = data, data
    for n, (channels, kernel, step) in enumerate(chain, 1):
        body = nn.relu(_norm(body, f"{name}_bn{n}", data_layout))
        if n == 1:
            first = body
        body = layers.conv2d(
            body,
            channels=channels,
            kernel_size=(kernel, kernel),
            strides=step,
            padding=(kernel // 2, kernel // 2),
            name=f"{name}_conv{n}",
            **layout,
        )
    if dim_match:
        return body + data
    shortcut = layers.conv2d(
        first, channels=num_filter, kernel_size=(1, 1), strides=stride, name=f"{name}_sc", **layout
    )
    return body + shortcut


def _norm(data: Expr, name: str, layout: str, **attributes: Any) -> Expr:
    return layers.batch_norm_infer(
        data, epsilon=EPSILON, axis=layout.index("C"), name=name, **attributes
    )


def resnet(
    units: Sequence[int],
    num_stages: int,
    filter_list: Sequence[int],
    num_classes: int,
    data_shape: Sequence[int],
    bottle_neck: bool = True,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """`num_stages` stages of `units` residual units each.

    filter_list: channels before the first stage, then of each stage. data_shape is in the order of
    `layout` ("NCHW" or "NHWC"); up to a height of 32 the first convolution keeps the size.
    """
    if len(units) != num_stages:
        raise ValueError(f"units must have num_stages={num_stages} numbers, found {list(units)}")
    both: dict[str, Any] = {
        "data_layout": layout,
        "kernel_layout": "OIHW" if layout == "NCHW" else "HWIO",
    }
    small = data_shape[layout.index("H")] <= 32
    body: Expr = var("data", shape=data_shape, dtype=dtype)
    body = _norm(body, "bn_data", layout, scale=False)
    kernel, stride, pad = (3, 1, 1) if small else (7, 2, 3)
    body = layers.conv2d(
        body,
        channels=filter_list[0],
        kernel_size=(kernel, kernel),
        strides=(stride, stride),
        padding=(pad, pad),
        name="conv0",
        **both,
    )
    if not small:
        body = nn.relu(_norm(body, "bn0", layout))
        body = nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    for i, count in enumerate(units):
        for j in range(count):
            step = 2 if i > 0 and j == 0 else 1
            body = residual_unit(
                body,
                filter_list[i + 1],
                (step, step),
                j > 0,
                f"stage{i + 1}_unit{j + 1}",
                bottle_neck,
                **both,
            )
    body = nn.relu(_norm(body, "bn1", layout))
    body = nn.batch_flatten(nn.global_avg_pool2d(body, layout=layout))
    result = nn.softmax(layers.dense_add_bias(body, units=num_classes, name="fc1"))
    return Function(free_vars(result), result)


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Function:
    """ResNet for images of `image_shape`, which is in the order of `layout`.

    For heights up to 28 it is the network for CIFAR-10, with 6n+2 layers, or 9n+2 for 164 layers or
    more. Raises ValueError for an unsupported number of layers. Other keywords are ignored, as in
    TVM.
    """
    unknown = ValueError(f"no ResNet of num_layers={num_layers} is known for this image_shape")
    filters: tuple[int, ...]
    units: tuple[int, ...]
    if image_shape[layout.index("H") - 1] <= 28:
        bottle_neck = (num_layers - 2) % 9 == 0 and num_layers >= 164
        if not bottle_neck and ((num_layers - 2) % 6 or num_layers >= 164):
            raise unknown
        filters = (16, 64, 128, 256) if bottle_neck else (16, 16, 32, 64)
        units = ((num_layers - 2) // (9 if bottle_neck else 6),) * 3
    else:
        if num_layers not in UNITS:
            raise unknown
        bottle_neck = num_layers >= 50
        filters = (64, 256, 512, 1024, 2048) if bottle_neck else (64, 64, 128, 256, 512)
        units = UNITS[num_layers]
    data_shape = (batch_size, *image_shape)
    return resnet(units, len(units), filters, num_classes, data_shape, bottle_neck, layout, dtype)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name)."""
    net = get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs)
    return create_workload(net)
