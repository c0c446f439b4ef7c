"""qnn.conv2d, qnn.dense and qnn.batch_matmul lowered to four sums of products.

sum (a - za) (w - zw) = sum a w - zw sum a - za sum w + n za zw

The first sum is the operator itself on narrow integers, which is fast on most hardware. The sums of
constant weights, and so the last two terms, can be folded. A term whose zero point is known to be 0
is left out. If the second term is not a plain pooling (convolutions with groups or dilation), the
zero points are subtracted first and the products are int32.

Source: src/relay/qnn/op/convolution.cc, dense.cc and batch_matmul.cc of TVM 0.16.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.quantize.qnn_values import (
    across,
    integer,
    is_number,
    is_scalar_constant,
    length,
    lowers,
    same_scalar,
    tensor_type,
)
from byoc_lab.relay.ir.attrs import Attrs, attrs_type
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.op.tensor.shape import reshaped_to


@dataclass(frozen=True)
class _Terms:
    """The four terms: the product in the dtype of the result, the other terms in int32 or int64.
    Unused terms have no effect on the result."""

    product: Expr
    data: Expr
    weight: Expr
    zeros: Expr

    def combined(self, zero: int | None, kernel_zero: int | None, dtype: str) -> Expr:
        """Their sum, of `dtype`. zero, kernel_zero: the zero points, None if they are unknown."""
        if zero == 0 and kernel_zero == 0:
            return self.product
        data, weight, zeros = (
            term if dtype == "int32" else relay.cast(term, dtype)
            for term in (self.data, self.weight, self.zeros)
        )
        if zero == 0:
            return relay.subtract(self.product, data)
        if kernel_zero == 0:
            return relay.subtract(self.product, weight)
        return relay.add(relay.subtract(self.product, data), relay.subtract(zeros, weight))


def _known(zero: Expr, kernel_zero: Expr) -> tuple[int | None, int | None]:
    """Both zero points as numbers; (None, None) unless both are constants without axes."""
    if not (is_scalar_constant(zero) and is_scalar_constant(kernel_zero)):
        return None, None
    assert isinstance(zero, Constant) and isinstance(kernel_zero, Constant)
    return int(zero.numpy()), int(kernel_zero.numpy())


def _wrapped(value: int) -> int:
    """The number as int32, with wraparound like int32 products."""
    return int(np.int64(value).astype(np.int32))


def _sum(x: Expr, *axes: int, keepdims: bool) -> Expr:
    return relay.sum(relay.cast(x, "int32"), axis=axes, keepdims=keepdims)


# Matrices ----------------------------------------------------------------------------------------


@lowers("qnn.dense")
def lower_dense(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    """Raises PassError for data with more than two axes, as TVM reads the second as the last."""
    data, weight, zero, kernel_zero = args[:4]
    if len(tensor_type(types[0]).shape) != 2:
        raise PassError(
            f"qnn.dense is lowered for data of two axes, found {types[0]}; reshape the data"
        )
    total = _sum(data, 1, keepdims=True)
    if not is_scalar_constant(kernel_zero):
        total = relay.repeat(total, repeats=length(types[1], 0), axis=1)
    a, w = _known(zero, kernel_zero)
    return _Terms(
        product=Call(Op.get("nn.dense"), [data, weight], attrs),
        data=relay.multiply(kernel_zero, total),
        weight=relay.multiply(zero, _sum(weight, 1, keepdims=False)),
        zeros=_zeros(zero, kernel_zero, a, w, length(types[0], 1)),
    ).combined(a, w, attrs.out_dtype)


@lowers("qnn.batch_matmul")
def lower_batch_matmul(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    """Raises PassError unless transpose_a is false and transpose_b is true, as the builder sets
    them."""
    x, y, zero, other_zero = args[:4]
    if attrs.transpose_a or not attrs.transpose_b:
        raise PassError(
            f"qnn.batch_matmul is lowered with transpose_a=False, transpose_b=True, found {attrs}"
        )
    columns, depth = length(types[1], 1), length(types[1], 2)
    a, w = _known(zero, other_zero)
    weight = relay.multiply(zero, _sum(y, 2, keepdims=True))
    return _Terms(
        product=Call(Op.get("nn.batch_matmul"), [x, y], attrs),
        data=relay.multiply(other_zero, _sum(x, 2, keepdims=True)),
        weight=relay.reshape(weight, newshape=(0, 1, columns))
        if columns
        else reshaped_to(weight, (length(types[1], 0), 1, 0)),
        zeros=_zeros(zero, other_zero, a, w, depth),
    ).combined(a, w, attrs.out_dtype)


def _zeros(zero: Expr, other: Expr, a: int | None, w: int | None, count: int) -> Expr:
    if a is not None and w is not None:
        return integer(_wrapped(a * w * count))
    return relay.multiply(relay.multiply(zero, other), integer(count))


# Convolutions ------------------------------------------------------------------------------------

LAYOUTS = ("NCHW", "NHWC")
KERNELS = ("OIHW", "HWIO", "HWOI", "OHWI")


@lowers("qnn.conv2d")
def lower_conv2d(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    """Raises PassError for other layouts than those in LAYOUTS and KERNELS, and, as TVM does,
    without a kernel size."""
    for name, known in (("data_layout", LAYOUTS), ("kernel_layout", KERNELS)):
        if attrs[name] not in known:
            raise PassError(
                f"qnn.conv2d is lowered with {name} {', '.join(known)}, found {attrs[name]}; "
                f"run ConvertLayout first"
            )
    data, weight, zero, kernel_zero = args[:4]
    a, w = _known(zero, kernel_zero)
    kernel = {axis: length(types[1], n) for n, axis in enumerate(attrs.kernel_layout)}
    depthwise = attrs.groups != 1 and attrs.channels == attrs.groups
    if attrs.kernel_size is None:
        raise PassError(
            f"qnn.conv2d requires kernel size to be specified, found kernel_size=None; give it "
            f"kernel_size=({kernel['H']}, {kernel['W']}), as its weight has; if "
            f"FakeQuantizationToInteger made it, give that to its nn.conv2d"
        )
    direct = (w == 0 or tuple(attrs.dilation) == (1, 1)) and (attrs.groups == 1 or depthwise)
    if a is None:  # a vector, possibly of one element
        layout, axis = (attrs.data_layout, "C") if direct else (attrs.kernel_layout, "O")
        vector = relay.reshape(kernel_zero, newshape=(-1,))
        kernel_zero = across(vector, 4, layout.index(axis))
    if not direct:
        return _of_int32(attrs, data, weight, zero, kernel_zero)
    padded = _padded(attrs, data, zero)
    size = kernel["H"] * kernel["W"]
    depth = size if depthwise else size * length(types[0], attrs.data_layout.index("C"))
    bits = "int32" if depthwise else _wide(attrs.out_dtype)
    if a is not None and w is not None:
        zeros: Expr = integer(_wrapped(a * w * depth), bits)
    else:
        zeros = relay.multiply(integer(depth, bits), relay.multiply(zero, kernel_zero))
    second = _depthwise_data if depthwise else _data
    return _Terms(
        product=_convolution(attrs, padded, weight),
        data=second(attrs, padded, kernel_zero, kernel),
        weight=_weight(attrs, weight, zero, kernel, depthwise),
        zeros=zeros,
    ).combined(a, w, attrs.out_dtype)


def _wide(dtype: str) -> str:
    return "int64" if dtype == "int64" else "int32"


def _of_int32(attrs: Any, data: Expr, weight: Expr, zero: Expr, kernel_zero: Expr) -> Expr:
    """The convolution of data and weight without their zero points."""
    dtype = _wide(attrs.out_dtype)
    moved = []
    for x, offset in ((data, zero), (weight, kernel_zero)):
        whole = relay.cast(x, dtype)
        if not same_scalar(offset, integer(0, dtype)):
            whole = relay.subtract(whole, relay.cast(offset, dtype))
        moved.append(whole)
    return Call(Op.get("nn.conv2d"), moved, attrs)


def _padded(attrs: Any, data: Expr, zero: Expr) -> Expr:
    """The data padded with its zero point instead of 0."""
    top, left, bottom, right = attrs.padding
    if not any(attrs.padding):
        return data
    width = {"H": (top, bottom), "W": (left, right)}
    pad_width = tuple(width.get(axis, (0, 0)) for axis in attrs.data_layout)
    return relay.nn.pad(data, pad_width, zero)


def _convolution(attrs: Attrs, data: Expr, weight: Expr) -> Expr:
    return Call(Op.get("nn.conv2d"), [data, weight], attrs.replace(padding=(0, 0, 0, 0)))


def _pooled(attrs: Any, x: Expr, kernel: dict[str, int]) -> Expr:
    """The sum of each window: the mean of the values times the window's size. The values are
    multiplied before the mean is taken, because the mean of integers is rounded."""
    size = kernel["H"] * kernel["W"]
    if size != 1:
        x = relay.multiply(x, integer(size))
    elif prod(attrs.strides) == 1:
        return x
    pool = attrs_type("relay.attrs.AvgPool2DAttrs").make(
        pool_size=attrs.kernel_size,
        strides=attrs.strides,
        dilation=attrs.dilation,
        padding=(0, 0),
        layout=attrs.data_layout,
        out_layout="",
        ceil_mode=False,
        count_include_pad=False,
    )
    return Call(Op.get("nn.avg_pool2d"), [x], pool)


def _data(attrs: Any, padded: Expr, kernel_zero: Expr, kernel: dict[str, int]) -> Expr:
    channel = attrs.data_layout.index("C")
    total = _pooled(attrs, _sum(padded, channel, keepdims=True), kernel)
    if is_number(kernel_zero, 1):
        return total
    if not is_scalar_constant(kernel_zero):
        total = relay.repeat(total, repeats=kernel["O"], axis=channel)
    return relay.multiply(kernel_zero, total)


def _depthwise_data(attrs: Any, padded: Expr, kernel_zero: Expr, kernel: dict[str, int]) -> Expr:
    channel, multiplier = attrs.data_layout.index("C"), kernel["I"]
    total = _pooled(attrs, relay.cast(padded, "int32"), kernel)
    if not is_number(kernel_zero, 1):
        if not is_scalar_constant(kernel_zero):
            kernel_zero = relay.repeat(kernel_zero, repeats=multiplier, axis=0)
        total = relay.multiply(kernel_zero, total)
    return relay.repeat(total, repeats=multiplier, axis=channel) if multiplier != 1 else total


def _weight(attrs: Any, weight: Expr, zero: Expr, kernel: dict[str, int], depthwise: bool) -> Expr:
    summed = "HW" if depthwise else "IHW"
    axes = [n for n, axis in enumerate(attrs.kernel_layout) if axis in summed]
    channels = kernel["O"] * (kernel["I"] if depthwise else 1)
    shape = tuple(channels if axis == "C" else 1 for axis in attrs.data_layout)
    total = reshaped_to(_sum(weight, *axes, keepdims=False), shape)
    return total if is_number(zero, 1) else relay.multiply(zero, total)
