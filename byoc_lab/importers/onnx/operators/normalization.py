"""Normalizations, and dropout."""

from __future__ import annotations

from typing import Any

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import MICROSOFT, converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.relay.ir.expr import Expr


@converts("BatchNormalization")
def batch_norm(node: Node) -> Any:
    epsilon = node.attr("epsilon", 1e-5)
    if node.attr("training_mode", 0):
        return _in_training(node, epsilon)
    if any(node.outputs[1:]):
        node.fail("statistics of training (further outputs) are not computed")
    return relay.nn.batch_norm(*node.given, epsilon=epsilon)[0]


def _in_training(node: Node, epsilon: float) -> tuple[Expr, Expr, Expr]:
    """Normalized by the statistics of the batch, which also update the running statistics."""
    x, gamma, beta, mean, variance = node.given
    dtype = node.dtype(x)
    axes = [a for a in range(node.rank(x)) if a != 1]
    batch_mean, batch_variance = relay.mean(x, axis=axes), relay.variance(x, axis=axes)
    momentum = relay.const(float(node.attr("momentum", 0.9)), dtype)
    rest = relay.const(1.0 - float(node.attr("momentum", 0.9)), dtype)
    found = relay.nn.batch_norm(x, gamma, beta, batch_mean, batch_variance, epsilon=epsilon)[0]
    return found, mean * momentum + batch_mean * rest, variance * momentum + batch_variance * rest


@converts("InstanceNormalization")
def instance_norm(node: Node) -> Expr:
    return relay.nn.instance_norm(*node.given, epsilon=node.attr("epsilon", 1e-5))


@converts("GroupNormalization")
def group_norm(node: Node) -> Expr:
    """Scale and bias are per group up to opset 20, per channel from opset 21 on."""
    x, groups = node[0], node.attr("num_groups")
    channels = node.length(x, 1)
    scale, bias = node[1], node[2]
    if node.opset < 21 and groups and channels % groups == 0:
        times = channels // groups
        scale, bias = (relay.repeat(v, times, axis=0) for v in (scale, bias))
    return relay.nn.group_norm(x, scale, bias, groups, epsilon=node.attr("epsilon", 1e-5))


@converts("LayerNormalization")
def layer_norm(node: Node) -> tuple[Expr, Expr, Expr]:
    """Normalizes over all dimensions from `axis` on; also returns the mean and the inverse standard
    deviation."""
    return _layer_norm(node, node[0], _from_axis(node), 1e-5, node[1], node.optional(2))


def _from_axis(node: Node) -> list[int]:
    rank = node.rank(node[0])
    return list(range(node.axis(node.attr("axis", -1), rank), rank))


def _layer_norm(
    node: Node, x: Expr, axes: list[int], epsilon: float, scale: Expr, bias: Expr | None
) -> tuple[Expr, Expr, Expr]:
    mean = relay.mean(x, axis=axes, keepdims=True)
    variance = relay.variance(x, axis=axes, keepdims=True, with_mean=mean)
    inverse = _inverse_root(node, variance, epsilon)
    found = (x - mean) * inverse * scale
    return found if bias is None else found + bias, mean, inverse


def _rms_norm(
    node: Node, x: Expr, axes: list[int], epsilon: float, scale: Expr
) -> tuple[Expr, Expr]:
    """Divides by the root mean square, without subtracting the mean."""
    inverse = _inverse_root(node, relay.mean(x * x, axis=axes, keepdims=True), epsilon)
    return x * inverse * scale, inverse


def _inverse_root(node: Node, square: Expr, epsilon: float) -> Expr:
    dtype = node.dtype(node[0])
    added = relay.const(float(node.attr("epsilon", epsilon)), dtype)
    return relay.const(1.0, dtype) / relay.sqrt(square + added)


@converts("SimplifiedLayerNormalization")
def rms_norm(node: Node) -> tuple[Expr, Expr]:
    return _rms_norm(node, node[0], _from_axis(node), 1e-5, node[1])


@converts("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_norm(node: Node) -> tuple[Expr | None, ...]:
    """The layer norm of a sum, and the sum itself."""
    simplified = node.op_type == "SkipSimplifiedLayerNormalization"
    total, bias = node[0] + node[1], node.optional(3 if simplified else 4)
    total = total if bias is None else total + bias
    if simplified:
        found, inverse = _rms_norm(node, total, [-1], 1e-12, node[2])
        return found, None, inverse, total
    return *_layer_norm(node, total, [-1], 1e-12, node[2], node.optional(3)), total


@converts("MeanVarianceNormalization")
def mean_variance_normalization(node: Node) -> Expr:
    x, axes = node[0], list(node.attr("axes", [0, 2, 3]))
    mean = relay.mean(x, axis=axes, keepdims=True)
    variance = relay.variance(x, axis=axes, keepdims=True)
    return (x - mean) / relay.sqrt(variance + relay.const(1e-9, node.dtype(x)))


@converts("LpNormalization")
def lp_normalization(node: Node) -> Expr:
    x = node[0]
    axis, p = node.attr("axis", -1), node.attr("p", 2)
    if p not in (1, 2):
        node.fail(f"p must be 1 or 2, found {p}")
    powers = relay.abs(x) if p == 1 else x * x
    norm = relay.sum(powers, axis=[axis], keepdims=True)
    norm = norm if p == 1 else relay.sqrt(norm)
    zero, one = (relay.const(number, node.dtype(x)) for number in (0.0, 1.0))
    return x / relay.where(relay.equal(norm, zero), one, norm)  # a norm of 0: the zeros stay zeros


@converts("LRN")
def lrn(node: Node) -> Expr:
    return relay.nn.lrn(
        node[0],
        size=node.attr("size"),
        axis=1,
        bias=node.attr("bias", 1.0),
        alpha=node.attr("alpha", 0.0001),
        beta=node.attr("beta", 0.75),
    )


@converts("Dropout")
def dropout(node: Node) -> tuple[Expr, Expr]:
    """In inference nothing is dropped (SimplifyInference removes the operator), and the mask is
    true."""
    if node.optional(2) is not None and node.known(2, "whether it is in training").any():
        ratio = 0.5 if node.optional(1) is None else float(node.known(1, "the ratio"))
        if ratio > 0:
            node.fail("dropout in training mode draws random numbers, which is not supported")
    mask = relay.cast(relay.ones_like(node[0]), "bool")
    return relay.nn.dropout(node[0]), mask
