"""Gradients that training graphs carry as operators: max_pool2d_grad, avg_pool2d_grad,
conv2d_backward_weight.

Source: `MaxPool2DGradRel`, `Conv2DBackwardWeightRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.attrs import attrs_type
from byoc_lab.relay.expr import Call, Expr
from byoc_lab.relay.op.layout import inverse_permute, permute, positions
from byoc_lab.relay.op.namespace import builds
from byoc_lab.relay.op.nn_pool import overhanging, window_divisor
from byoc_lab.relay.op.registry import OpPattern, define_op
from byoc_lab.relay.op.relations import (
    NO_DTYPE,
    Types,
    differ,
    dim,
    fail,
    need_length,
    need_rank,
    out_dtype,
    tensors,
)
from byoc_lab.relay.op.relax_types import shape_of, typed
from byoc_lab.relay.op.windows import (
    check_window_attrs,
    last_axes,
    padded,
    padding_of_builder,
    pads_of,
    static_result,
    taps,
)
from byoc_lab.relay.types import TensorType, Type

NO_DILATION = (1, 1)  # TVM leaves the field of these two operators empty


class _Undilated:
    """The attributes with the dilation that an empty field stands for."""

    def __init__(self, attrs: AnyValue):
        self._attrs = attrs
        self.dilation = attrs.dilation or NO_DILATION

    def __getattr__(self, name: str) -> AnyValue:
        return self._attrs[name]

    def __getitem__(self, name: str) -> AnyValue:
        return self.dilation if name == "dilation" else self._attrs[name]

    def get(self, name: str, default: AnyValue = None) -> AnyValue:
        return self._attrs.get(name, default)


def _pool_grad(kind: str, doc: str) -> None:
    op = f"nn.{kind}_pool2d_grad"
    schema = attrs_type(f"relay.attrs.{kind.capitalize()}Pool2DAttrs")

    def relation(attrs: AnyValue, gradient: Type | None, data: Type | None) -> Types:
        """The gradient of the pooled data, and the data; typed as the data."""
        g, x = tensors(op, "out_grad data", gradient, data)
        if x is None:
            return g, None, None
        need_rank(op, "data", x, 4)
        check_window_attrs(op, _Undilated(attrs), 2)
        need_length(op, "pool_size", attrs.pool_size, 2)
        positions(op, "layout", attrs.layout, "NCHW")
        if g is not None:
            need_rank(op, "out_grad", g, 4)
        return g, x, x

    def reference(attrs: AnyValue, gradient: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Of equal elements in a window, the first gets the gradient of the maximum."""
        full = _Undilated(attrs)
        order = positions(op, "layout", attrs.layout, "NCHW")
        g, x = gradient.transpose(order), data.transpose(order)
        size = static_result(op, x.shape[2:], attrs.pool_size, full)
        pads = overhanging(full, x.shape[2:], size)
        filler = np.finfo(x.dtype).min if kind == "max" else 0
        around = padded(x, pads, filler)
        out = np.zeros(around.shape, x.dtype)
        views = list(taps(around, attrs.pool_size, attrs.strides, full.dilation, size))
        targets = taps(out, attrs.pool_size, attrs.strides, full.dilation, size)
        if kind == "max":
            winner = np.argmax([view for _, view in views], axis=0)
            for n, (_, target) in enumerate(targets):
                target += np.where(winner == n, g, 0)
        else:
            share = g / window_divisor(full, x.shape[2:], pads, size, x.dtype)
            for _, target in targets:
                target += share
        top, left = pads[0]
        inside = out[:, :, top : top + x.shape[2], left : left + x.shape[3]]
        return np.ascontiguousarray(inside.transpose(np.argsort(order)))

    def relax(R: AnyValue, attrs: AnyValue, gradient: AnyValue, data: AnyValue) -> AnyValue:
        options = {
            "pool_size": attrs.pool_size,
            "strides": attrs.strides,
            "padding": sum(pads_of(attrs.padding, 2), ()),
            "dilation": attrs.dilation or NO_DILATION,
            "ceil_mode": attrs.ceil_mode,
            "count_include_pad": attrs.get("count_include_pad", False),
            "layout": attrs.layout,
        }
        return getattr(R.grad, f"{kind}_pool2d_backward")(gradient, data, **options)

    defined = define_op(
        op,
        "out_grad data",
        relation,
        reference=reference,
        attrs=schema,
        attrs_key="relay.attrs.MaxPool2DAttrs",  # both operators, says TVM
        flops=lambda attrs, args, result: prod(args[0].shape) * prod(attrs.pool_size),
        relax=relax,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        doc=doc,
    )

    def make(out_grad: Expr, data: Expr, values: dict[str, AnyValue]) -> Call:
        return Call(defined, [out_grad, data], schema.make(values, dilation=()))

    if kind == "max":

        @builds(op)
        def max_pool2d_grad(
            out_grad: Expr,
            data: Expr,
            pool_size: AnyValue = (1, 1),
            strides: AnyValue = (1, 1),
            padding: AnyValue = (0, 0),
            layout: str = "NCHW",
            out_layout: str = "",
            ceil_mode: bool = False,
        ) -> Call:
            """The gradient of `nn.max_pool2d(data)` for `out_grad`, that of its result."""
            values = {
                "pool_size": pool_size,
                "strides": strides,
                "padding": padding,
                "layout": layout,
                "out_layout": out_layout,
                "ceil_mode": ceil_mode,
            }
            return make(out_grad, data, values)

        return

    @builds(op)
    def avg_pool2d_grad(
        out_grad: Expr,
        data: Expr,
        pool_size: AnyValue = (1, 1),
        strides: AnyValue = (1, 1),
        padding: AnyValue = (0, 0),
        layout: str = "NCHW",
        out_layout: str = "",
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ) -> Call:
        """The gradient of `nn.avg_pool2d(data)` for `out_grad`, that of its result."""
        values = {
            "pool_size": pool_size,
            "strides": strides,
            "padding": padding,
            "layout": layout,
            "out_layout": out_layout,
            "ceil_mode": ceil_mode,
            "count_include_pad": count_include_pad,
        }
        return make(out_grad, data, values)


_pool_grad("max", "The gradient of nn.max_pool2d: to the greatest element of each window.")
_pool_grad("avg", "The gradient of nn.avg_pool2d: to all elements of each window alike.")

# nn.conv2d_backward_weight -----------------------------------------------------------------------

BACKWARD = "nn.conv2d_backward_weight"


def _orders(attrs: AnyValue) -> tuple[tuple[int, ...], ...]:
    """Where (N, C, H, W) is in the gradient and in the data, and (O, I, H, W) in the result.

    The record keeps the layout of the gradient where a convolution has that of its kernel.
    """
    return (
        positions(BACKWARD, "grad_layout", attrs.kernel_layout, "NCHW"),
        positions(BACKWARD, "data_layout", attrs.data_layout, "NCHW"),
        positions(BACKWARD, "kernel_layout", attrs.out_layout, "OIHW"),
    )


def backward_relation(attrs: AnyValue, gradient: Type | None, data: Type | None) -> Types:
    """gradient (N, O, H', W') and data (N, C, H, W) give the weight (O, C / groups, KH, KW)."""
    g, x = tensors(BACKWARD, "grad data", gradient, data)
    check_window_attrs(BACKWARD, attrs, 2)
    order, data_order, kernel_order = _orders(attrs)
    if attrs.kernel_size is None:
        fail(BACKWARD, "attribute kernel_size must be given: (height, width)")
    need_length(BACKWARD, "kernel_size", attrs.kernel_size, 2)
    if g is None or x is None:
        return g, x, None
    need_rank(BACKWARD, "grad", g, 4)
    need_rank(BACKWARD, "data", x, 4)
    _, outputs, *_ = permute(g.shape, order)
    _, inputs, *_ = permute(x.shape, data_order)
    if attrs.channels is not None and differ(attrs.channels, outputs):
        fail(BACKWARD, f"grad must have channels={attrs.channels}, found {outputs} in {g}")
    shape = (outputs, dim(lambda n: n // attrs.groups, inputs), *attrs.kernel_size)
    return g, x, TensorType(inverse_permute(shape, kernel_order), out_dtype(attrs, x))


def backward_reference(attrs: AnyValue, gradient: np.ndarray, data: np.ndarray) -> np.ndarray:
    """For each kernel element, the products of the gradient and the data it meets."""
    order, data_order, kernel_order = _orders(attrs)
    g, x = gradient.transpose(order), data.transpose(data_order)
    groups, kernel = attrs.groups, attrs.kernel_size
    n, outputs, *size = g.shape
    channels = x.shape[1] // groups
    around = padded(x, pads_of(attrs.padding, 2), 0)
    factor = g.reshape(n, groups, outputs // groups, -1)
    out = np.empty((outputs, channels, *kernel), np.result_type(g.dtype, x.dtype))
    for at, view in taps(around, kernel, attrs.strides, attrs.dilation, size):
        block = view.reshape(n, groups, channels, -1)
        sums = np.einsum("ngop,ngcp->goc", factor, block)
        last_axes(out, at)[...] = sums.reshape(outputs, channels)
    kind = np.dtype(attrs.out_dtype or data.dtype)
    return np.ascontiguousarray(out.transpose(np.argsort(kernel_order)).astype(kind))


def _backward_relax(R: AnyValue, attrs: AnyValue, gradient: AnyValue, data: AnyValue) -> AnyValue:
    """For each kernel element, a product of matrices over what it meets."""
    order, data_order, kernel_order = _orders(attrs)
    g = typed(R.permute_dims(gradient, list(order)))
    x = R.permute_dims(data, list(data_order))
    before, after = pads_of(attrs.padding, 2)
    x = typed(R.nn.pad(x, [0, 0, 0, 0, before[0], after[0], before[1], after[1]]))
    n, outputs, high, wide = shape_of(g)
    groups, (rows, columns) = attrs.groups, attrs.kernel_size
    channels = shape_of(x)[1] // groups
    left = R.permute_dims(R.reshape(g, (n, groups, outputs // groups, high * wide)), [1, 2, 0, 3])
    left = R.reshape(left, (groups, outputs // groups, n * high * wide))
    parts = []
    for row in range(rows):
        for column in range(columns):
            starts = [row * attrs.dilation[0], column * attrs.dilation[1]]
            ends = [
                s + (size - 1) * step + 1
                for s, size, step in zip(starts, (high, wide), attrs.strides, strict=True)
            ]
            view = R.strided_slice(x, [2, 3], starts, ends, list(attrs.strides))
            block = R.permute_dims(
                R.reshape(view, (n, groups, channels, high * wide)), [1, 0, 3, 2]
            )
            product = R.matmul(left, R.reshape(block, (groups, n * high * wide, channels)))
            parts.append(R.reshape(product, (outputs, channels, 1)))
    weight = R.reshape(R.concat(parts, axis=2), (outputs, channels, rows, columns))
    back = R.permute_dims(weight, [kernel_order.index(n) for n in range(4)])
    return R.astype(back, attrs.out_dtype) if attrs.out_dtype else back


BACKWARD_WEIGHT = define_op(
    BACKWARD,
    "grad data",
    backward_relation,
    reference=backward_reference,
    attrs=attrs_type("relay.attrs.Conv2DAttrs"),
    flops=lambda attrs, args, result: (
        2 * prod(args[0].shape) * prod(result.shape) // result.shape[_orders(attrs)[2][0]]
    ),
    relax=_backward_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="The gradient of nn.conv2d for its weight; the layout of grad is in kernel_layout.",
)


@builds(BACKWARD)
def conv2d_backward_weight(
    grad: Expr,
    data: Expr,
    strides: AnyValue = (1, 1),
    padding: AnyValue = (0, 0),
    dilation: AnyValue = (1, 1),
    groups: int = 1,
    channels: int | None = None,
    kernel_size: AnyValue = None,
    grad_layout: str = "NCHW",
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_dtype: str = "",
) -> Call:
    """The gradient of `nn.conv2d(data, weight)` for the weight; `grad` is that of its result."""

    def both(value: AnyValue) -> AnyValue:
        return (value, value) if isinstance(value, int) else value

    attrs = BACKWARD_WEIGHT.definition.attrs.make(
        strides=both(strides),
        padding=padding_of_builder(padding, 2),
        dilation=both(dilation),
        groups=groups,
        channels=channels,
        kernel_size=both(kernel_size),
        data_layout=data_layout,
        kernel_layout=grad_layout,
        out_layout=kernel_layout,
        out_dtype=out_dtype or NO_DTYPE,
    )
    return Call(BACKWARD_WEIGHT, [grad, data], attrs)
