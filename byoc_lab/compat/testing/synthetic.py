"""A network of two similar blocks, node for node as `tvm.relay.testing.synthetic` builds it."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.relay import nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Function, Var, var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.framework.namespace import function
from byoc_lab.relay.testing import layers
from byoc_lab.relay.testing.init import Constant, create_workload


def get_net(
    input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> Function:
    """A function on images of `input_shape` (batch, channels, height, width); the result has the
    same shape.

    wtype: dtype of the weights; by default the dtype of the images.
    """
    kind = wtype or dtype
    _, channels, _, width = input_shape
    data = var("data", shape=input_shape, dtype=dtype)
    dense_weight, conv_weight = _weights("", channels, width, kind)
    bias = Var("bias")
    hidden = nn.bias_add(_block(data, data, dense_weight, conv_weight), bias)
    hidden = layers.batch_norm_infer(hidden, name="batch_norm")
    result = _block(hidden, data, *_weights("2", channels, width, kind))
    return Function(free_vars(result), result)


def _weights(number: str, channels: int, width: int, dtype: str) -> tuple[Var, Var]:
    return (
        Var(f"dense{number}_weight", TensorType((width, width), dtype)),
        Var(f"conv{number}_weight", TensorType((channels, channels, 3, 3), dtype)),
    )


def _block(value: Expr, data: Expr, dense_weight: Var, conv_weight: Var) -> Expr:
    """The sum of relu(dense) along the rows and softmax(conv2d)."""
    width = dense_weight.type_annotation.shape[0]  # type: ignore[union-attr]
    rows = function("reshape")(value, newshape=(-1, width))
    product = nn.relu(nn.dense(rows, dense_weight))
    convolution = nn.conv2d(value, conv_weight, kernel_size=(3, 3), padding=(1, 1))
    return function("reshape_like")(product, data) + nn.softmax(convolution)


def get_workload(
    input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name). All elements of a weight are equal and sum to 1."""
    return create_workload(get_net(input_shape, dtype, wtype), Constant())
