"""The generator of DCGAN, node for node as `tvm.relay.testing.dcgan` builds it.

Source: Radford et al., "Unsupervised Representation Learning with Deep Convolutional Generative
Adversarial Networks", arXiv:1511.06434.
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

reshape, tanh = function("reshape"), function("tanh")
KERNEL_LAYOUTS = {"NCHW": "IOHW", "NHWC": "HWOI"}
KERNEL, STRIDE = 4, 2


def _deconv(data: Expr, channels: int, size: int, layout: str, name: str) -> Expr:
    """A transposed convolution whose result has `size` rows and columns, twice as many as the
    data."""
    pad = (KERNEL - 1) // 2
    more = (size + 2 * pad - KERNEL) % STRIDE
    return layers.conv2d_transpose(
        data,
        kernel_size=(KERNEL, KERNEL),
        strides=(STRIDE, STRIDE),
        channels=channels,
        padding=(pad, pad),
        output_padding=(more, more),
        data_layout=layout,
        kernel_layout=KERNEL_LAYOUTS[layout],
        name=name,
    )


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: Sequence[int] = (3, 64, 64),
    ngf: int = 128,
    code: Expr | None = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """Random numbers (batch_size, random_len), or `code`, to images of `oshape` (C, 64, 64).

    `ngf` is the number of channels of the last hidden layer; the result is in `layout`. Raises
    ValueError for an unknown layout and for images that are not 64x64.
    """
    if layout not in KERNEL_LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(KERNEL_LAYOUTS)}, found {layout!r}")
    if tuple(oshape[-2:]) != (64, 64):
        raise ValueError(f"only images of 64x64 can be generated, found oshape={tuple(oshape)}")
    data = code if code is not None else var("data", shape=(batch_size, random_len), dtype=dtype)
    body = nn.relu(nn.dense(data, var("dense_weight"), units=4 * 4 * ngf * 8))
    shape = (-1, ngf * 8, 4, 4) if layout == "NCHW" else (-1, 4, 4, ngf * 8)
    body = reshape(body, newshape=shape)
    for name, channels, size in (("g2", ngf * 4, 8), ("g3", ngf * 2, 16), ("g4", ngf, 32)):
        body = _deconv(body, channels, size, layout, f"{name}_deconv")
        body = layers.batch_norm_infer(
            body,
            epsilon=1e-5 + 1e-12,
            scale=False,
            axis=layout.index("C"),
            name=f"{name}_batch_norm",
        )
        body = nn.relu(body)
    result = tanh(_deconv(body, oshape[-3], 64, layout, "g5_deconv"))
    return Function(free_vars(result), result)


def get_workload(
    batch_size: int,
    oshape: Sequence[int] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name)."""
    net = get_net(batch_size, random_len, oshape=oshape, ngf=ngf, layout=layout, dtype=dtype)
    return create_workload(net)
