"""Activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node
from byoc_lab.relay.ir.expr import Constant, Expr


def _scalar(node: Node, value: float) -> Expr:
    return Constant(np.asarray(value, node.result_dtype))


@converts("relu.default")
def relu(node: Node) -> Any:
    return relay.nn.relu(node["self"])


@converts("relu6.default")
def relu6(node: Node) -> Any:
    return relay.clip(node["self"], 0.0, 6.0)


@converts("hardtanh.default")
def hardtanh(node: Node) -> Any:
    return relay.clip(node["self"], float(node["min_val"]), float(node["max_val"]))


@converts("leaky_relu.default")
def leaky_relu(node: Node) -> Any:
    return relay.nn.leaky_relu(node["self"], float(node["negative_slope"]))


@converts("prelu.default", "_prelu_kernel.default")
def prelu(node: Node) -> Any:
    x, weight = node["self"], relay.reshape(node["weight"], (-1,))
    if math.prod(node.static("weight")) == 1:
        return relay.where(relay.less(x, _scalar(node, 0)), x * weight, x)
    return relay.nn.prelu(x, weight, axis=1)


@converts("elu.default")
def elu(node: Node) -> Any:
    x, alpha = node["self"], float(node["alpha"]) * float(node["scale"])
    inner = x if node["input_scale"] == 1 else x * _scalar(node, node["input_scale"])
    negative = _scalar(node, alpha) * (relay.exp(inner) - _scalar(node, 1))
    positive = x if node["scale"] == 1 else x * _scalar(node, node["scale"])
    return relay.where(relay.greater(x, _scalar(node, 0)), positive, negative)


@converts("gelu.default")
def gelu(node: Node) -> Any:
    """x times the cumulative normal distribution of x, or its approximation by tanh."""
    x, half, one = node["self"], _scalar(node, 0.5), _scalar(node, 1)
    if node["approximate"] == "tanh":
        cubic = x + _scalar(node, 0.044715) * x * x * x
        return half * x * (one + relay.tanh(_scalar(node, math.sqrt(2 / math.pi)) * cubic))
    return x * (half + half * relay.erf(x * _scalar(node, math.sqrt(0.5))))


@converts("silu.default")
def silu(node: Node) -> Any:
    return node["self"] * relay.sigmoid(node["self"])


@converts("mish.default")
def mish(node: Node) -> Any:
    x = node["self"]
    return x * relay.tanh(relay.log(_scalar(node, 1) + relay.exp(x)))


@converts("hardsigmoid.default")
def hardsigmoid(node: Node) -> Any:
    shifted = relay.clip(node["self"] + _scalar(node, 3), 0.0, 6.0)
    return shifted / _scalar(node, 6)


@converts("hardswish.default")
def hardswish(node: Node) -> Any:
    x = node["self"]
    return x * (relay.clip(x + _scalar(node, 3), 0.0, 6.0) / _scalar(node, 6))


@converts("softplus.default")
def softplus(node: Node) -> Any:
    """Returns x itself above the threshold."""
    x, beta = node["self"], _scalar(node, node["beta"])
    scaled = x * beta
    soft = relay.log(_scalar(node, 1) + relay.exp(scaled)) / beta
    return relay.where(relay.greater(scaled, _scalar(node, node["threshold"])), x, soft)


@converts("log_sigmoid.default")
def log_sigmoid(node: Node) -> Any:
    """min(x, 0) - log(1 + exp(-|x|)): log(sigmoid(x)) would compute the logarithm of 0 below
    -88."""
    x = node["self"]
    rest = relay.log(_scalar(node, 1) + relay.exp(relay.negative(relay.abs(x))))
    return relay.minimum(x, _scalar(node, 0)) - rest


@converts("softmax.int", "_softmax.default", "_safe_softmax.default")
def softmax(node: Node) -> Any:
    return relay.nn.softmax(node.tensor("self", node.result_dtype), node.axis())


@converts("log_softmax.int", "_log_softmax.default")
def log_softmax(node: Node) -> Any:
    return relay.nn.log_softmax(node.tensor("self", node.result_dtype), node.axis())


@converts("glu.default")
def glu(node: Node) -> Any:
    left, right = relay.split(node["self"], 2, axis=node.axis())
    return left * relay.sigmoid(right)
