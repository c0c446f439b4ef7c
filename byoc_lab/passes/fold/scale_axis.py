"""Common parts of both directions of FoldScaleAxis: scales and their axes.

A *message* (`ScaleRequest`) states that a node could absorb a scale along some axes of a tensor,
and whether the scale must be positive (because a relu is in between).

Source: src/relay/transforms/fold_scale_axis.cc of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

import numpy as np

from byoc_lab import relay
from byoc_lab.relay.ir.expr import Call, Constant, Expr, describe
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.relay.ir.ndarray import shown_array
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.tensor.shape import reshaped_to

ADD_SUB = ("add", "subtract")
RELU = ("nn.relu", "nn.leaky_relu")
CONV = ("nn.conv2d", "nn.conv3d")
WEIGHTED = (*CONV, "nn.dense")
"""The operators whose weights can absorb scales."""
_SEEN_THROUGH = ("expand_dims", "reshape", "transpose", "squeeze", "repeat")


@dataclass(frozen=True)
class ScaleRequest:
    """A node can absorb a scale along `axes`; with `require_positive` only a positive one."""

    axes: tuple[int, ...]
    require_positive: bool = False

    def positive(self) -> ScaleRequest:
        return ScaleRequest(self.axes, True)


def matches(full: TensorType, other: TensorType, axes: tuple[int, ...]) -> bool:
    """Whether `other`, right-aligned with `full`, has the same dimensions on `axes` and 1
    elsewhere."""
    base = len(full.shape) - len(other.shape)
    if base < 0 or any(a < base for a in axes):
        return False
    for i, dim in enumerate(other.shape):
        wanted = full.shape[i + base] if i + base in axes else 1
        if dim != wanted:
            return False
    return True


def as_scale(full: TensorType, value: Expr, ty: TensorType, axes: tuple[int, ...]) -> Expr | None:
    """`value`, of type `ty`, reshaped to a tensor that has only the `axes` of type `full`; None if
    it is not a scale along `axes`.

    A scalar fits any axes: it is repeated along each. (TVM 0.16 repeats it along each axis by the
    size of the first axis, and fails if the sizes differ.)
    """
    if ty.shape and not matches(full, ty, axes):
        return None  # even if the rank of `full` is too low for the axes
    if not _is_static(full, axes):
        return None
    if not ty.shape:
        scale = relay.expand_dims(value, axis=0, num_newaxis=len(axes))
        for n, axis in enumerate(axes):
            scale = relay.repeat(scale, repeats=full.shape[axis], axis=n)
        return scale
    base = len(full.shape) - len(ty.shape)
    ones = [i for i in range(len(ty.shape)) if i + base not in axes]
    return relay.squeeze(value, axis=ones) if ones else value


def _is_static(ty: TensorType, axes: tuple[int, ...]) -> bool:
    """Whether a scale along several axes can be reshaped to them; one axis needs no reshape."""
    return len(axes) == 1 or all(isinstance(ty.shape[axis], int) for axis in axes)


def along(scale: Expr, full: TensorType, axes: tuple[int, ...]) -> Expr:
    """A scale of just `axes` shaped so that it broadcasts along them in a tensor of type `full`."""
    if len(axes) > 1:
        return reshaped_to(scale, [d if n in axes else 1 for n, d in enumerate(full.shape)])
    trailing = len(full.shape) - axes[0] - 1
    return relay.expand_dims(scale, axis=1, num_newaxis=trailing) if trailing else scale


def is_positive_constant(expr: Expr) -> bool:
    """Whether `expr` is a constant without negative elements (possibly reshaped)."""
    while isinstance(expr, Call) and any(map(expr.is_op, _SEEN_THROUGH)):
        expr = expr.args[0]
    return isinstance(expr, Constant) and bool(np.all(expr.numpy() >= 0))


def computed_by_weighted(nodes: Iterable[Expr]) -> set[Expr]:
    """The nodes whose values depend on an operator of WEIGHTED. nodes: in post order."""
    found: set[Expr] = set()
    for node in nodes:
        weighted = isinstance(node, Call) and node.op_name in WEIGHTED
        if weighted or not found.isdisjoint(node.parts()):
            found.add(node)
    return found


def fits(message: ScaleRequest, scale: Expr) -> bool:
    """Whether the node that sent `message` can absorb this scale."""
    return not message.require_positive or is_positive_constant(scale)


@dataclass(frozen=True)
class ConvAxes:
    """The channel axes on one side of a convolution: in its data or result, and in its weight."""

    channels: tuple[int, ...]
    weight: tuple[int, ...]


def input_axes(call: Call) -> ConvAxes | None:
    """The axes of a convolution's input channels; None if it cannot absorb their scale."""
    return _conv_axes(call, call.attrs.data_layout, "I")


def output_axes(call: Call) -> ConvAxes | None:
    """The axes of a convolution's output channels; None if it cannot absorb their scale."""
    return _conv_axes(call, call.attrs.out_layout or call.attrs.data_layout, "O")


def _conv_axes(call: Call, layout: str, letter: str) -> ConvAxes | None:
    """The axes of a convolution along which channels are scaled: axes C of its data or result, with
    `layout`, and axes `letter` ("I" or "O") of its weight. For a depthwise convolution, axes O.

    None if some channel axes are blocked and others plain, if blocks are nested, and for grouped
    convolutions that are not depthwise.
    """
    kernel = call.attrs.kernel_layout
    is_blocked = {"c" in layout, "o" in kernel, "i" in kernel}
    outer, inner = Layout(layout), Layout(kernel)
    if len(is_blocked) > 1 or any(len(set(x.letters)) < len(x) for x in (outer, inner)):
        return None
    weight = call.args[1].checked_type
    assert isinstance(weight, TensorType)
    outputs, inputs = (prod(weight.shape[n] for n in _axes(inner, x)) for x in "OI")
    is_depthwise = outputs == call.attrs.groups and inputs == 1
    if call.attrs.groups != 1 and not is_depthwise:
        return None
    axes = ConvAxes(_axes(outer, "C"), _axes(inner, "O" if is_depthwise else letter))
    in_order = all(list(each) == sorted(each) for each in (axes.channels, axes.weight))
    return axes if in_order and _is_static(weight, axes.weight) else None


def _axes(layout: Layout, letter: str) -> tuple[int, ...]:
    """The positions of an axis and of its blocks."""
    found = (layout.index_of(letter), layout.index_of(letter.lower()))
    return tuple(n for n in found if n >= 0)


def shown(factor: Expr) -> str:
    """A scale for messages: its numbers if it is a constant."""
    return shown_array(factor.numpy()) if isinstance(factor, Constant) else describe(factor)
