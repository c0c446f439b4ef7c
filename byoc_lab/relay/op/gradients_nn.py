"""Gradients of the layers of a network; `gradients.py` says what a gradient is."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.relay.expr import Call, Expr
from byoc_lab.relay.op.gradients import build, gradient_of, number, shape_of, summed
from byoc_lab.relay.op.windows import four_pads


@gradient_of("nn.bias_add")
def bias_add(call: Call, grad: Expr) -> list[Any]:
    data = call.args[0]
    return [summed(grad, data), build("sum", grad, axis=call.attrs.axis, exclude=True)]


@gradient_of("nn.dense")
def dense(call: Call, grad: Expr) -> list[Any]:
    data, weight = call.args
    flat = build("reshape", data, (-1, shape_of(data)[-1]))
    rows = build("reshape", grad, (-1, shape_of(weight)[0]))
    to_data = build("nn.dense", grad, build("transpose", weight))
    to_weight = build("nn.dense", build("transpose", rows), build("transpose", flat))
    return [to_data, to_weight]


@gradient_of("nn.batch_matmul")
def batch_matmul(call: Call, grad: Expr) -> list[Any]:
    """Of C = A B, each of them perhaps transposed: A' = C' B^T, B' = A^T C'."""
    (a, b), attrs = call.args, call.attrs

    def product(x: Expr, y: Expr, transpose_x: bool, transpose_y: bool) -> Any:
        return build("nn.batch_matmul", x, y, transpose_a=transpose_x, transpose_b=transpose_y)

    ta, tb = bool(attrs.transpose_a), bool(attrs.transpose_b)
    to_a = product(b, grad, tb, True) if ta else product(grad, b, False, not tb)
    to_b = product(grad, a, True, ta) if tb else product(a, grad, not ta, False)
    return [summed(to_a, a), summed(to_b, b)]


@gradient_of("nn.softmax")
def softmax(call: Call, grad: Expr) -> list[Any]:
    part = build("sum", grad * call, axis=call.attrs.axis, keepdims=True)
    return [(grad - part) * call]


@gradient_of("nn.log_softmax")
def log_softmax(call: Call, grad: Expr) -> list[Any]:
    whole = build("sum", grad, axis=call.attrs.axis, keepdims=True)
    return [grad - whole * build("exp", call)]


@gradient_of("nn.cross_entropy")
def cross_entropy(call: Call, grad: Expr) -> list[Any]:
    predictions, targets = call.args
    part = build("negative", grad / number(shape_of(predictions)[0], predictions))
    return [part * targets / predictions, part * build("log", predictions)]


@gradient_of("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(call: Call, grad: Expr) -> list[Any]:
    predictions, targets = call.args
    part = build("negative", grad / number(shape_of(predictions)[0], predictions))
    return [part * targets, part * predictions]


@gradient_of("nn.conv2d")
def conv2d(call: Call, grad: Expr) -> list[Any]:
    """For NCHW data and OIHW weights, as in TVM."""
    (data, weight), attrs = call.args, call.attrs
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or attrs.data_layout)
    if layouts != ("NCHW", "OIHW", "NCHW"):
        raise PassError(
            f"nn.conv2d has a gradient for data_layout NCHW and kernel_layout OIHW, "
            f"found {layouts}; run ConvertLayout first"
        )
    top, left, bottom, right = four_pads(attrs.padding)
    stored, kernel, outputs = shape_of(weight), shape_of(weight)[2:], shape_of(call)[1]
    if stored[0] != outputs:  # a depthwise weight, whose first axis counts the inputs
        weight = build("reshape", weight, newshape=(outputs, 1, *kernel))
    missing = [
        size - ((out - 1) * stride - pads + (taps - 1) * dilation + 1)
        for size, out, stride, pads, taps, dilation in zip(
            shape_of(data)[2:], shape_of(call)[2:], attrs.strides, (top + bottom, left + right),
            kernel, attrs.dilation, strict=True,
        )
    ]  # fmt: skip
    window = {"strides": attrs.strides, "padding": attrs.padding, "dilation": attrs.dilation}
    to_data = build(
        "nn.conv2d_transpose", grad, weight, channels=shape_of(data)[1], kernel_size=kernel,
        groups=attrs.groups, output_padding=missing, **window,
    )  # fmt: skip
    to_weight = build(
        "nn.conv2d_backward_weight", grad, data, groups=attrs.groups,
        channels=outputs, kernel_size=kernel, grad_layout="NCHW", data_layout="NCHW",
        kernel_layout="OIHW", **window,
    )  # fmt: skip
    if stored[0] != outputs:
        to_weight = build("reshape", to_weight, newshape=stored)
    return [to_data, to_weight]


@gradient_of("nn.max_pool2d")
def max_pool2d(call: Call, grad: Expr) -> list[Any]:
    attrs = call.attrs
    return [
        build("nn.max_pool2d_grad", grad, call.args[0], pool_size=attrs.pool_size,
              strides=attrs.strides, padding=attrs.padding, layout=attrs.layout,
              ceil_mode=attrs.ceil_mode)
    ]  # fmt: skip


@gradient_of("nn.avg_pool2d")
def avg_pool2d(call: Call, grad: Expr) -> list[Any]:
    attrs = call.attrs
    return [
        build("nn.avg_pool2d_grad", grad, call.args[0], pool_size=attrs.pool_size,
              strides=attrs.strides, padding=attrs.padding, layout=attrs.layout,
              ceil_mode=attrs.ceil_mode, count_include_pad=attrs.count_include_pad)
    ]  # fmt: skip


@gradient_of("nn.global_avg_pool2d")
def global_avg_pool2d(call: Call, grad: Expr) -> list[Any]:
    data, layout = call.args[0], call.attrs.layout
    shape = shape_of(data)
    window = (shape[layout.index("H")], shape[layout.index("W")])
    return [build("nn.avg_pool2d_grad", grad, data, pool_size=window, layout=layout)]
