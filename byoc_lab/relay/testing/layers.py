"""Layers that create their parameters, named after the layer. Source: TVM's testing.layers."""

from __future__ import annotations

from typing import Any

from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Call, Expr, TupleGetItem, var

KERNEL_LAYOUTS = {"NCHW": "OIHW", "NHWC": "HWIO"}
DEPTHWISE_KERNEL_LAYOUTS = {"NCHW": "OIHW", "NHWC": "HWOI"}


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """The kernel layout for a data layout. Raises ValueError for an unknown one."""
    layouts = DEPTHWISE_KERNEL_LAYOUTS if is_depthwise else KERNEL_LAYOUTS
    if data_layout not in layouts:
        raise ValueError(f"layout must be one of {', '.join(layouts)}, found {data_layout!r}")
    return layouts[data_layout]


def conv2d(data: Expr, weight: Expr | None = None, *, name: str, **attributes: Any) -> Call:
    """`nn.conv2d` with a weight called `<name>_weight` unless one is given."""
    return nn.conv2d(data, weight or var(f"{name}_weight"), **attributes)


def conv3d(data: Expr, weight: Expr | None = None, *, name: str, **attributes: Any) -> Call:
    """`nn.conv3d` with a weight called `<name>_weight` unless one is given."""
    return nn.conv3d(data, weight or var(f"{name}_weight"), **attributes)


def conv2d_transpose(
    data: Expr, weight: Expr | None = None, *, name: str, **attributes: Any
) -> Call:
    """`nn.conv2d_transpose` with a weight called `<name>_weight` unless one is given."""
    return nn.conv2d_transpose(data, weight or var(f"{name}_weight"), **attributes)


def batch_norm_infer(
    data: Expr,
    gamma: Expr | None = None,
    beta: Expr | None = None,
    moving_mean: Expr | None = None,
    moving_var: Expr | None = None,
    *,
    name: str,
    **attributes: Any,
) -> TupleGetItem:
    """The normalised data of `nn.batch_norm`, parameters `<name>_gamma`, `_beta`, `_moving_*`."""
    return nn.batch_norm(
        data,
        gamma or var(f"{name}_gamma"),
        beta or var(f"{name}_beta"),
        moving_mean or var(f"{name}_moving_mean"),
        moving_var or var(f"{name}_moving_var"),
        **attributes,
    )[0]


def dense_add_bias(
    data: Expr,
    weight: Expr | None = None,
    bias: Expr | None = None,
    units: int | None = None,
    *,
    name: str,
    **attributes: Any,
) -> Call:
    """`nn.dense` and `nn.bias_add` with parameters `<name>_weight` and `<name>_bias`."""
    product = nn.dense(data, weight or var(f"{name}_weight"), units, **attributes)
    return nn.bias_add(product, bias or var(f"{name}_bias"), axis=-1)
