"""Convolutions and transposed convolutions; formulas in native/src/ops/conv*.cc.

One definition serves all numbers of axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.kernels.running import (
    DATA,
    SIDES,
    Ints,
    PostOps,
    named,
    repeat,
    run,
    window,
)
from byoc_lab.errors import InputError

TAPS = {1: "S", 2: "R, S", 3: "Q, R, S"}
RELU = ({"kind": "eltwise", "alg": "relu"},)


def _conv(axes: int, suffix: str = "") -> Callable[..., Any]:
    kind = f"conv{axes}d"
    name = kind + suffix
    first = RELU if suffix.endswith("_relu") else ()
    needs_bias = suffix.startswith("_bias")

    def conv(
        data: Any,
        weight: Any,
        bias: Any = None,
        *,
        strides: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
        data_zero_point: int = 0,
        post_ops: PostOps = (),
        out: Any = None,
    ) -> Any:
        tensors = {"data": data, "weight": weight, "bias": bias}
        attrs = {
            **window(strides, padding, dilation, axes),
            "groups": groups,
            "data_zero_point": data_zero_point,
        }
        optional = () if needs_bias else ("bias",)
        options: dict[str, Any] = {"product": True, "optional": optional, "first": first}
        return run(name, kind, tensors, attrs, out, post_ops, **options)

    if suffix:
        sum_ = "conv2d(data, weight)" + (" + bias" if needs_bias else "")
        formula = f"max({sum_}, 0)" if first else sum_
        return named(conv, name, f"{formula} in one kernel; arguments as for `conv2d`.")
    return named(
        conv,
        name,
        f"""Cross-correlation of data {DATA[axes]} with weight (O, C/groups, {TAPS[axes]}).

        strides and dilation: one number, or one for each axis. padding: one number, one for each
        axis, or {SIDES[axes]}. bias: None, or O elements; axes of size 1 may surround them. Each
        spatial size of the result is
        (size + before + after - (taps - 1) * dilation - 1) // stride + 1.

        All arrays are float32 or bfloat16. Or data is uint8 or int8 and weight int8; then the
        result
        is int32 and exact: the sums of (data - data_zero_point) * weight, padded with
        data_zero_point, without bias (`requantize` adds it).
        """,
    )


conv1d, conv2d, conv3d = map(_conv, (1, 2, 3))
conv2d_bias, conv2d_relu, conv2d_bias_relu = (
    _conv(2, suffix) for suffix in ("_bias", "_relu", "_bias_relu")
)


def out_channels_first(weight: np.ndarray, groups: int) -> np.ndarray:
    """A transposed convolution's weight (C, O/groups, ...) as a convolution's: (O, C/groups, ...).

    An array that does not fit is returned unchanged; the native check then reports it.
    """
    whole = isinstance(groups, int | np.integer) and not isinstance(groups, bool) and groups > 0
    if weight.ndim < 3 or not weight.size or not whole or weight.shape[0] % groups:
        return weight
    if groups == 1:
        swapped: np.ndarray = weight.swapaxes(0, 1)
        return swapped
    parts = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:]).swapaxes(1, 2)
    return np.ascontiguousarray(parts).reshape(-1, *parts.shape[2:])


def _conv_transpose(axes: int) -> Callable[..., Any]:
    name = f"conv{axes}d_transpose"

    def conv_transpose(
        data: Any,
        weight: Any,
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
        attrs = {
            **window(strides, padding, dilation, axes),
            "groups": groups,
            "output_padding": repeat(output_padding, axes),
        }
        where = f"byoc_lab.dnnl.{name}"
        held = native.described(where, "data", data, None)
        given = native.as_array(where, "weight", weight)
        if len(held.shape) == given.ndim == axes + 2 and held.shape[1] != given.shape[0]:
            raise InputError(
                f"{where}: weight: expected shape {(held.shape[1], *given.shape[1:])} (its first "
                f"dimension is data's {held.shape[1]} channels), found {given.shape}"
            )
        tensors = {"data": held, "weight": out_channels_first(given, groups), "bias": bias}
        return run(name, name, tensors, attrs, out, post_ops)

    return named(
        conv_transpose,
        name,
        f"""Transposed convolution of data {DATA[axes]} with weight (C, O/groups, {TAPS[axes]}).

        Each spatial size of the result is (size - 1) * stride + (taps - 1) * dilation + 1 - before
        - after + output_padding; each output_padding is smaller than its stride. Other arguments
        as for `conv{axes}d`. The weight is copied, because oneDNN needs its axes in a different
        order.
        """,
    )


conv1d_transpose, conv2d_transpose, conv3d_transpose = map(_conv_transpose, (1, 2, 3))
