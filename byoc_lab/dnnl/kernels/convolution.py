"""Convolutions and transposed convolutions; formulas in native/src/ops/conv*.cc."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab.dnnl.kernels.running import Ints, PostOps, repeat, run, window

RELU = ({"kind": "eltwise", "alg": "relu"},)


def _conv(
    name: str,
    axes: int,
    tensors: dict[str, Any],
    strides: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    out: Any,
    post_ops: PostOps,
) -> Any:
    attrs = {**window(strides, padding, dilation, axes), "groups": groups}
    return run(name, f"conv{axes}d", tensors, attrs, out, post_ops)


def conv1d(
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """1-D convolution of data (N, C, W) with weight (O, C/groups, S): as `conv2d`.

    padding: one number or (before, behind).
    """
    tensors = {"data": data, "weight": weight, "bias": bias}
    return _conv("conv1d", 1, tensors, strides, padding, dilation, groups, out, post_ops)


def conv2d(
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """2-D convolution (cross-correlation) of data (N, C, H, W) with weight (O, C/groups, R, S).

    strides and dilation: one number or (vertical, horizontal). padding: one number, (vertical,
    horizontal) or (top, left, bottom, right). bias: None, (O,), (O, 1, 1) or (1, O, 1, 1). Result
    (N, O, H', W') with H' = (H + top + bottom - (R - 1) * dilation - 1) // stride + 1.
    """
    tensors = {"data": data, "weight": weight, "bias": bias}
    return _conv("conv2d", 2, tensors, strides, padding, dilation, groups, out, post_ops)


def conv3d(
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """3-D convolution of data (N, C, D, H, W) with weight (O, C/groups, Q, R, S): as `conv2d`.

    padding: one number, one for each axis, or (front, top, left, back, bottom, right).
    """
    tensors = {"data": data, "weight": weight, "bias": bias}
    return _conv("conv3d", 3, tensors, strides, padding, dilation, groups, out, post_ops)


def conv2d_relu(
    data: Any,
    weight: Any,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    out: Any = None,
) -> Any:
    """max(conv2d(data, weight), 0) in one kernel; arguments as for `conv2d`."""
    tensors = {"data": data, "weight": weight}
    return _conv("conv2d_relu", 2, tensors, strides, padding, dilation, groups, out, RELU)


def conv2d_bias(
    data: Any,
    weight: Any,
    bias: Any,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    out: Any = None,
) -> Any:
    """conv2d(data, weight) + bias in one kernel; bias (O,), (O, 1, 1) or (1, O, 1, 1)."""
    tensors = {"data": data, "weight": weight, "bias": bias}
    return _conv("conv2d_bias", 2, tensors, strides, padding, dilation, groups, out, ())


def conv2d_bias_relu(
    data: Any,
    weight: Any,
    bias: Any,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    out: Any = None,
) -> Any:
    """max(conv2d(data, weight) + bias, 0) in one kernel; arguments as for `conv2d_bias`."""
    tensors = {"data": data, "weight": weight, "bias": bias}
    return _conv("conv2d_bias_relu", 2, tensors, strides, padding, dilation, groups, out, RELU)


def _transposed(
    axes: int,
    data: Any,
    weight: Any,
    bias: Any,
    strides: Ints,
    padding: Ints,
    output_padding: Ints,
    dilation: Ints,
    groups: int,
    post_ops: PostOps,
    out: Any,
) -> Any:
    name = f"conv{axes}d_transpose"
    attrs = {
        **window(strides, padding, dilation, axes),
        "groups": groups,
        "output_padding": repeat(output_padding, axes),
    }
    if isinstance(weight, np.ndarray):
        weight = out_channels_first(weight, groups)
    tensors = {"data": data, "weight": weight, "bias": bias}
    return run(name, name, tensors, attrs, out, post_ops)


def out_channels_first(weight: np.ndarray, groups: int) -> np.ndarray:
    """A transposed convolution's weight (C, O/groups, ...) as a convolution's: (O, C/groups, ...).

    An array that does not fit is given back as it is, for the native check to name.
    """
    if weight.ndim < 3 or groups < 1 or weight.shape[0] % groups:
        return weight
    parts = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:]).swapaxes(1, 2)
    return np.ascontiguousarray(parts).reshape(-1, *parts.shape[2:])


def conv1d_transpose(
    data: Any,
    weight: np.ndarray,
    bias: Any = None,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """Transposed convolution of data (N, C, W), weight (C, O/groups, S): as `conv2d_transpose`."""
    return _transposed(
        1, data, weight, bias, strides, padding, output_padding, dilation, groups, post_ops, out
    )


def conv2d_transpose(
    data: Any,
    weight: np.ndarray,
    bias: Any = None,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """Transposed convolution of data (N, C, H, W) with weight (C, O/groups, R, S), an array.

    Result (N, O, H', W') with H' = (H - 1) * stride + (R - 1) * dilation + 1 - top - bottom +
    output_padding; each output_padding is smaller than its stride. Other arguments as for `conv2d`.
    """
    return _transposed(
        2, data, weight, bias, strides, padding, output_padding, dilation, groups, post_ops, out
    )


def conv3d_transpose(
    data: Any,
    weight: np.ndarray,
    bias: Any = None,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """Transposed convolution of data (N, C, D, H, W), weight (C, O/groups, Q, R, S): as in 2-D."""
    return _transposed(
        3, data, weight, bias, strides, padding, output_padding, dilation, groups, post_ops, out
    )
