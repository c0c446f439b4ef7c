"""Activations."""

from __future__ import annotations

import math

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import MICROSOFT, converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.importers.onnx.operators.elementwise import scalar
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.op.tensor.shape import reshaped_to


@converts("Relu")
def relu(node: Node) -> Expr:
    return relay.nn.relu(node[0])


@converts("LeakyRelu")
def leaky_relu(node: Node) -> Expr:
    return relay.nn.leaky_relu(node[0], node.attr("alpha", 0.01))


@converts("PRelu")
def prelu(node: Node) -> Expr:
    """One slope per channel, or slopes that are broadcast."""
    x, slope = node[0], node[1]
    shape = node.shape(slope, "the shape of the slope")
    channels = [n for n in shape if n != 1]
    rank = node.rank(x)
    along_channels = len(shape) == rank - 1 and len(channels) == 1 and channels[0] == shape[0]
    row = rank == 2 and len(shape) == 1 and shape == (node.length(x, 1),)
    if row or (along_channels and len(shape) > 1):
        return relay.nn.prelu(x, relay.reshape(slope, (-1,)), axis=1)
    zero = relay.const(0.0, node.dtype(x))
    return relay.where(relay.less(x, zero), x * slope, x)


@converts("Elu")
def elu(node: Node) -> Expr:
    alpha = scalar(node, float(node.attr("alpha", 1.0)))
    one = scalar(node, 1.0)
    return -alpha * relay.nn.relu(one - relay.exp(node[0])) + relay.nn.relu(node[0])


@converts("Selu")
def selu(node: Node) -> Expr:
    alpha = scalar(node, float(node.attr("alpha", 1.67326319217681884765625)))
    gamma = scalar(node, float(node.attr("gamma", 1.05070102214813232421875)))
    one = scalar(node, 1.0)
    return gamma * (-alpha * relay.nn.relu(one - relay.exp(node[0])) + relay.nn.relu(node[0]))


@converts("Celu")
def celu(node: Node) -> Expr:
    x, alpha, zero = node[0], scalar(node, float(node.attr("alpha", 1.0))), scalar(node, 0.0)
    one = scalar(node, 1.0)
    negative = relay.minimum(zero, alpha * (relay.exp(x / alpha) - one))
    return relay.maximum(zero, x) + negative


@converts("Gelu")
@converts("Gelu", domain=MICROSOFT)
def gelu(node: Node) -> Expr:
    by_tanh = node.attr("approximate", "none") == "tanh"
    return (_gelu_by_tanh if by_tanh else _gelu)(node, node[0])


@converts("BiasGelu", "FastGelu", domain=MICROSOFT)
def biased_gelu(node: Node) -> Expr:
    x = node[0] if node.optional(1) is None else node[0] + node[1]
    return (_gelu if node.op_type == "BiasGelu" else _gelu_by_tanh)(node, x)


def _gelu(node: Node, x: Expr) -> Expr:
    """x times the cumulative normal distribution of x."""
    half = scalar(node, 0.5)
    distribution = half + half * relay.erf(x * scalar(node, math.sqrt(0.5)))
    return x * distribution


def _gelu_by_tanh(node: Node, x: Expr) -> Expr:
    half, one = scalar(node, 0.5), scalar(node, 1.0)
    cubic = x + scalar(node, 0.044715) * x * x * x
    return half * x * (one + relay.tanh(scalar(node, math.sqrt(2 / math.pi)) * cubic))


@converts("QuickGelu", domain=MICROSOFT)
def quick_gelu(node: Node) -> Expr:
    x = node[0]
    return x * relay.sigmoid(scalar(node, float(node.attr("alpha", 1.702))) * x)


@converts("Mish")
def mish(node: Node) -> Expr:
    x, one = node[0], scalar(node, 1.0)
    return x * relay.tanh(relay.log(one + relay.exp(x)))


@converts("HardSigmoid")
def hard_sigmoid(node: Node) -> Expr:
    alpha, beta = scalar(node, node.attr("alpha", 0.2)), scalar(node, node.attr("beta", 0.5))
    return relay.clip(node[0] * alpha + beta, 0.0, 1.0)


@converts("HardSwish")
def hard_swish(node: Node) -> Expr:
    x = node[0]
    sixth, half = scalar(node, 1 / 6), scalar(node, 0.5)
    return x * relay.clip(x * sixth + half, 0.0, 1.0)


@converts("ThresholdedRelu")
def thresholded_relu(node: Node) -> Expr:
    x = node[0]
    alpha = scalar(node, float(node.attr("alpha", 1.0)))
    return relay.where(relay.greater(x, alpha), x, scalar(node, 0.0))  # also 0 for nan and -inf


@converts("Softplus")
def softplus(node: Node) -> Expr:
    return relay.log(relay.exp(node[0]) + scalar(node, 1.0))


@converts("Softsign")
def softsign(node: Node) -> Expr:
    return node[0] / (scalar(node, 1.0) + relay.abs(node[0]))


@converts("Shrink")
def shrink(node: Node) -> Expr:
    x = node[0]
    lambd, bias = scalar(node, node.attr("lambd", 0.5)), scalar(node, node.attr("bias", 0.0))
    above = relay.where(relay.greater(x, lambd), x - bias, scalar(node, 0.0))
    return relay.where(relay.less(x, -lambd), x + bias, above)


def _flattened(node: Node, axis: int) -> tuple[Expr, int]:
    """Before opset 13, the dimensions from `axis` on are flattened into one."""
    x = node[0]
    rank = node.rank(x)
    if node.opset >= 13 or axis == rank - 1:
        return x, axis
    sizes = node.shape(x)
    if math.prod(sizes[axis + 1 :]) == 1:
        return x, axis
    rest = math.prod(sizes[axis:]) if 0 in sizes else -1
    return reshaped_to(x, (math.prod(sizes[:axis]), rest)), 1


@converts("Softmax", "LogSoftmax", "Hardmax")
def softmax(node: Node) -> Expr:
    rank = node.rank(node[0])
    axis = node.axis(node.attr("axis", 1 if node.opset < 13 else -1), rank)
    x, along = _flattened(node, axis)
    if node.op_type == "Softmax":
        found = relay.nn.softmax(x, along)
    elif node.op_type == "LogSoftmax":
        found = relay.nn.log_softmax(x, along)
    else:
        found = _hardmax(node, x, along)
    return found if x is node[0] else reshaped_to(found, node.shape(node[0]))


def _hardmax(node: Node, x: Expr, axis: int) -> Expr:
    dtype = node.dtype(x)
    length = node.shape(node.typed(x))[axis]
    if not length:
        return x
    one, zero = relay.const(1.0, dtype), relay.const(0.0, dtype)
    return relay.one_hot(relay.argmax(x, axis), one, zero, length, axis, dtype)
