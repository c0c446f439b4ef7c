"""`tvm.relay.op.strategy.generic`: queries about a convolution, for passes in scripts.

TVM's strategies choose kernels, which byoc_lab does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from byoc_lab.errors import UnknownNameError
from byoc_lab.relay.ir.layout import Layout


def is_depthwise_conv2d(
    data_shape: Sequence[int],
    data_layout: str,
    kernel_shape: Sequence[int],
    kernel_layout: str,
    groups: int,
) -> bool:
    """Whether the number of groups equals the number of data channels and the size of the kernel's
    axis O. Raises UnknownNameError for a layout without axis O."""
    channels = _size(data_shape, data_layout, "C")
    return channels == _size(kernel_shape, kernel_layout, "O") == groups


def _size(shape: Sequence[int], layout: str, axis: str) -> int:
    """The size of an axis, including its blocks."""
    names = [letter.upper() for letter, _ in Layout(layout).axes]
    if axis not in names:
        raise UnknownNameError(f"the layout must have the axis {axis}, found {layout!r}")
    return prod(int(size) for name, size in zip(names, shape, strict=True) if name == axis)


__all__ = ["is_depthwise_conv2d"]
