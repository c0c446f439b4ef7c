"""Quantized operators."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import MICROSOFT, converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.importers.onnx.operators.windows import Window, kernel_of
from byoc_lab.passes.quantize.qnn_requantize import round_to_even
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.op.qnn.requantize_config import TOEVEN

qnn = relay.qnn.op


def _flat(node: Node, index: int, dtype: str) -> Expr:
    """A scale or zero point as a scalar or as a vector over channels."""
    given = node[index]
    shape = node.shape(given)
    if len(shape) > 1:
        node.fail(f"input {index} must be a scalar or a vector, found shape {shape}")
    if shape == (1,):
        given = relay.squeeze(given, axis=[0])
    return given if node.dtype(given) == dtype else relay.cast(given, dtype)


def _scale(node: Node, index: int) -> Expr:
    return _flat(node, index, "float32")


def _zero(node: Node, index: int) -> Expr:
    if node.optional(index) is None:
        return relay.const(0, "int32")
    return _flat(node, index, "int32")


def _axis(node: Node) -> int:
    rank = node.rank(node[0])
    if rank == 0:
        return 0
    return node.axis(node.attr("axis", 1), rank) if rank > 1 else 0


def _blocked(node: Node, index: int) -> Expr:
    """A scale or zero point per block of an axis, expanded to one per element of the data."""
    if node.optional(index) is None:
        return relay.const(0, "int32")
    axis = _axis(node)
    length, block = node.length(node[0], axis), int(node.attr("block_size"))
    found = relay.repeat(node[index], block, axis=axis)
    blocks = node.length(node[index], axis)
    if not (blocks - 1) * block < length <= blocks * block:
        node.fail(
            f"input {index} has {blocks} blocks of {block} along axis {axis}, which has size "
            f"{length}; {-(-length // block)} blocks are expected"
        )
    whole = length == blocks * block
    return found if whole else relay.strided_slice(found, [0], [length], axes=[axis])


@converts("QuantizeLinear")
def quantize_linear(node: Node) -> Expr:
    dtype = node.dtype(node[2]) if node.optional(2) is not None else "uint8"
    if node.attr("block_size", 0):
        limits = np.iinfo(dtype)
        found = round_to_even(node[0] / _blocked(node, 1), "float32")
        found = found + relay.cast(_blocked(node, 2), "float32")
        return relay.cast(relay.clip(found, float(limits.min), float(limits.max)), dtype)
    return qnn.quantize(node[0], _scale(node, 1), _zero(node, 2), _axis(node), dtype, TOEVEN)


@converts("DequantizeLinear")
def dequantize_linear(node: Node) -> Expr:
    if node.attr("block_size", 0):
        found = relay.cast(node[0], "int32") - relay.cast(_blocked(node, 2), "int32")
        return relay.cast(found, "float32") * _blocked(node, 1)
    return qnn.dequantize(node[0], _scale(node, 1), _zero(node, 2), _axis(node))


@converts("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> tuple[Expr, Expr, Expr]:
    """Quantize to uint8 by the range of the data, extended to include zero."""
    quantized, scale, point = _by_range(node[0])
    return relay.cast(quantized, "uint8"), scale, relay.cast(point, "uint8")


def _by_range(x: Expr) -> tuple[Expr, Expr, Expr]:
    """Integers from 0 to 255, their scale and their zero point, all as float32. The scale of zeros
    is 1, as in ONNX Runtime."""
    zero, levels = relay.const(0.0), relay.const(255.0)
    low, high = relay.minimum(relay.min(x), zero), relay.maximum(relay.max(x), zero)
    scale = relay.where(high > low, (high - low) / levels, relay.const(1.0))
    point = relay.clip(round_to_even(zero - low / scale, "float32"), 0.0, 255.0)
    return relay.clip(round_to_even(x / scale, "float32") + point, 0.0, 255.0), scale, point


def rounded_by_range(node: Node, x: Expr) -> Expr:
    """Data quantized by its range, then dequantized."""
    quantized, scale, point = _by_range(x)
    return node.typed((quantized - point) * scale)


def _requantized(node: Node, found: Expr, scale: Expr, zero: Expr, at: int, axis: int) -> Expr:
    dtype = node.dtype(node[at + 1])
    return qnn.requantize(
        found, scale, zero, _scale(node, at), _zero(node, at + 1), out_dtype=dtype, axis=axis,
        rounding=TOEVEN,
    )  # fmt: skip


def _convolution(
    node: Node, data: Expr, weight: Expr, zeros: tuple[Expr, Expr], scales: tuple[Expr, Expr]
) -> Expr:
    """A convolution of integers. zeros, scales: of the data and of the weight."""
    window = Window(node, kernel_of(node, weight))
    if len(window.kernel) != 2:
        node.fail(f"quantized convolutions have 2 dimensions, found {len(window.kernel)}")
    return qnn.conv2d(
        data,
        weight,
        *zeros,
        *scales,
        kernel_size=window.kernel,
        channels=node.length(weight, 0),
        strides=window.strides,
        padding=window.same_pads(node.sizes(data)) if window.same else window.pads,
        dilation=window.dilations,
        groups=node.attr("group", 1),
    )


@converts("QLinearConv")
def qlinear_conv(node: Node) -> Expr:
    zeros, scales = (_zero(node, 2), _zero(node, 5)), (_scale(node, 1), _scale(node, 4))
    found = _convolution(node, node[0], node[3], zeros, scales)
    if node.optional(8) is not None:
        found = relay.nn.bias_add(found, node[8])
    scale = node.typed(scales[0] * scales[1])
    return _requantized(node, found, scale, relay.const(0, "int32"), 6, 1)


@converts("ConvInteger")
def conv_integer(node: Node) -> Expr:
    one = relay.const(1.0)
    return _convolution(node, node[0], node[1], (_zero(node, 2), _zero(node, 3)), (one, one))


@converts("QLinearMatMul")
def qlinear_matmul(node: Node) -> Expr:
    a, b = node[0], node[3]
    a_scale, a_zero, b_scale, b_zero = (
        _scale(node, 1),
        _zero(node, 2),
        _scale(node, 4),
        _zero(node, 5),
    )
    scale = node.typed(a_scale * b_scale)
    if node.rank(b) == 2 and node.rank(a) == 2:
        found = qnn.dense(
            a, relay.transpose(b, axes=(1, 0)), a_zero, b_zero, a_scale, b_scale,
            units=node.length(b, 1),
        )  # fmt: skip
    elif node.rank(a) == 3 and node.rank(b) == 3:
        turned = relay.transpose(b, axes=(0, 2, 1))
        found = qnn.batch_matmul(a, turned, a_zero, b_zero, a_scale, b_scale)
    else:
        from byoc_lab.importers.onnx.operators.linear import product

        left = relay.cast(a, "int32") - a_zero
        found = product(node, left, relay.cast(b, "int32") - b_zero, "int32")
    return _requantized(node, found, scale, relay.const(0, "int32"), 6, -1)


@converts("QGemm", domain=MICROSOFT)
def qgemm(node: Node) -> Expr:
    """alpha * A * B + C of quantized matrices; without an output scale the result is float32."""
    a, b = node[0], node[3]
    if node.attr("transA", 0):
        a = relay.transpose(a, axes=(1, 0))
    units = node.length(b, 0 if node.attr("transB", 0) else 1)
    if not node.attr("transB", 0):
        b = relay.transpose(b, axes=(1, 0))
    a_scale, a_zero, b_scale, b_zero = (
        _scale(node, 1),
        _zero(node, 2),
        _scale(node, 4),
        _zero(node, 5),
    )
    found = qnn.dense(a, b, a_zero, b_zero, a_scale, b_scale, units=units)
    if node.optional(6) is not None:
        found = found + node[6]
    alpha = relay.const(float(node.attr("alpha", 1.0)))
    scale, zero = node.typed(a_scale * b_scale * alpha), relay.const(0, "int32")
    if node.optional(7) is None:
        return qnn.dequantize(found, scale, zero, axis=-1)
    return _requantized(node, found, scale, zero, 7, -1)


@converts("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_binary(node: Node) -> Expr:
    """Dequantize, compute in real numbers, quantize: as ONNX Runtime and TVM's importer do."""
    compute = relay.add if node.op_type == "QLinearAdd" else relay.multiply
    return _quantized(node, compute(_dequantized(node), _dequantized(node, 3)), 6)


def _dequantized(node: Node, at: int = 0) -> Expr:
    return qnn.dequantize(node[at], _scale(node, at + 1), _zero(node, at + 2), 0)


def _quantized(node: Node, found: Expr, at: int = 3, like: int = 0) -> Expr:
    """`found` quantized to the dtype of input `like`, with the scale and zero point at inputs `at`
    and `at + 1`."""
    dtype = node.dtype(node[like])
    return qnn.quantize(found, _scale(node, at), _zero(node, at + 1), 0, dtype, TOEVEN)


@converts("QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_leaky_relu(node: Node) -> Expr:
    return _quantized(node, relay.nn.leaky_relu(_dequantized(node), node.attr("alpha", 0.01)))


@converts("QLinearSigmoid", domain=MICROSOFT)
def qlinear_sigmoid(node: Node) -> Expr:
    return _quantized(node, relay.sigmoid(_dequantized(node)))


@converts("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(node: Node) -> Expr:
    return _quantized(node, relay.nn.softmax(_dequantized(node), node.attr("axis", -1)))


@converts("QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_global_average_pool(node: Node) -> Expr:
    layout = "NHWC" if node.attr("channels_last", 0) else "NCHW"
    return _quantized(node, relay.nn.global_avg_pool2d(_dequantized(node), layout=layout))


@converts("QLinearAveragePool", domain=MICROSOFT)
def qlinear_average_pool(node: Node) -> Expr:
    window = Window(node, node.attr("kernel_shape"))
    build = getattr(relay.nn, f"avg_pool{len(window.kernel)}d")
    include = bool(node.attr("count_include_pad", 0))
    data = node.typed(_dequantized(node))
    return _quantized(node, window.pooled(build, data, window.pads, count_include_pad=include))


@converts("QLinearWhere", domain=MICROSOFT)
def qlinear_where(node: Node) -> Expr:
    chosen = relay.where(node[0], _dequantized(node, 1), _dequantized(node, 4))
    return _quantized(node, chosen, 7, like=1)


@converts("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(node: Node) -> Expr:
    """Inputs: scale and zero point of the result, then data, scale and zero point per operand."""
    parts = [_dequantized(node, at) for at in range(2, len(node.inputs), 3)]
    return _quantized(node, relay.concatenate(parts, node.attr("axis")), 0, like=2)
