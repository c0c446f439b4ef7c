"""What the two directions of FoldScaleAxis share: which scale fits which axes of what.

A *message* says that a node could take over a scale along some axes of a tensor, and whether the
scale has to be positive for that (it must not change what a relu in between lets through).

Source: src/relay/transforms/fold_scale_axis.cc of TVM 0.16.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from byoc_lab import relay
from byoc_lab.relay.expr import Call, Constant, Expr
from byoc_lab.relay.types import TensorType

ADD_SUB = ("add", "subtract")
RELU = ("nn.relu", "nn.leaky_relu")
CONV = ("nn.conv2d", "nn.conv3d")
_SEEN_THROUGH = ("expand_dims", "reshape", "transpose", "squeeze", "repeat")


@dataclass(frozen=True)
class Message:
    """A scale along `axes` is welcome here, if positive when `require_positive`."""

    axes: tuple[int, ...]
    require_positive: bool = False

    def positive(self) -> Message:
        return Message(self.axes, True)


def matches(full: TensorType, other: TensorType, axes: tuple[int, ...]) -> bool:
    """Whether `other`, lined up right, has full's dimension on each of `axes` and 1 elsewhere."""
    base = len(full.shape) - len(other.shape)
    if base < 0 or any(a < base for a in axes):
        return False
    for i, dim in enumerate(other.shape):
        wanted = full.shape[i + base] if i + base in axes else 1
        if dim != wanted:
            return False
    return True


def as_scale(full: TensorType, value: Expr, axes: tuple[int, ...]) -> Expr | None:
    """`value` as a vector along `axes` of a tensor of type `full`, None where it does not fit.

    A scalar fits any one axis: it is repeated.
    """
    ty = value.checked_type
    assert isinstance(ty, TensorType)
    if not ty.shape:
        if len(axes) != 1:
            return None
        vector = relay.expand_dims(value, axis=0, num_newaxis=1)
        return relay.repeat(vector, repeats=full.shape[axes[0]], axis=0)
    if not matches(full, ty, axes):
        return None
    base = len(full.shape) - len(ty.shape)
    ones = [i for i in range(len(ty.shape)) if i + base not in axes]
    return relay.squeeze(value, axis=ones) if ones else value


def along(scale: Expr, axis: int, rank: int) -> Expr:
    """A vector shaped so that it broadcasts along one axis of `rank` dimensions."""
    trailing = rank - axis - 1
    return relay.expand_dims(scale, axis=1, num_newaxis=trailing) if trailing else scale


def is_positive_constant(expr: Expr) -> bool:
    """Whether `expr` is a constant without negative elements (behind reshaping operators)."""
    while isinstance(expr, Call) and any(map(expr.is_op, _SEEN_THROUGH)):
        expr = expr.args[0]
    return isinstance(expr, Constant) and bool(np.all(expr.numpy() >= 0))


def fits(message: Message, scale: Expr) -> bool:
    """Whether a scale may be handed to who sent `message`."""
    return not message.require_positive or is_positive_constant(scale)


def conv_axes(call: Call) -> tuple[int, int, int, int] | None:
    """Of a convolution: axes of C in data and in the result, of O and I in the weight.

    None for layouts that mix plain and blocked, and for grouped convolutions that are not
    depthwise. For a depthwise one the I axis is that of O.
    """
    a = call.attrs
    data, kernel, out = a.data_layout, a.kernel_layout, a.out_layout or a.data_layout
    if any(c.islower() for c in data + kernel + out):
        return None
    o, i = kernel.index("O"), kernel.index("I")
    weight = call.args[1].checked_type
    assert isinstance(weight, TensorType)
    depthwise = weight.shape[o] == a.groups and weight.shape[i] == 1
    if a.groups != 1 and not depthwise:
        return None
    return data.index("C"), out.index("C"), o, o if a.groups != 1 else i
