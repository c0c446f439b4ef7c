"""Losses."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.relay.ir.expr import Constant, Expr


def _nll(node: Node, logs: Expr) -> Expr:
    """The negative log-likelihood of the labels, reduced as the attribute states."""
    dtype = node.dtype(logs)
    shape = node.shape(logs)
    labels = relay.cast(node[1], "int64")
    ignored = node.attr("ignore_index", None)
    classes = shape[1]
    weight = node[2] if node.optional(2) is not None else Constant(np.ones(classes, dtype))
    if ignored is not None:
        outside = relay.equal(labels, relay.const(ignored, "int64"))
        labels = relay.where(outside, relay.const(0, "int64"), labels)
    weights = relay.take(weight, labels, axis=0)
    if ignored is not None:
        weights = relay.where(outside, relay.const(0.0, dtype), weights)
    chosen = relay.gather(logs, 1, relay.expand_dims(labels, axis=1))
    losses = -relay.squeeze(chosen, axis=[1]) * weights
    reduction = node.attr("reduction", "mean")
    if reduction == "none":
        return losses
    if reduction == "sum":
        return relay.sum(losses)
    if reduction != "mean":
        node.fail(f"reduction {reduction!r:.40} does not exist; none, sum and mean do")
    return relay.sum(losses) / relay.sum(weights)


@converts("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(node: Node) -> Expr:
    return _nll(node, node[0])


@converts("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(node: Node) -> tuple[Expr, Expr]:
    logs = node.typed(relay.nn.log_softmax(node[0], axis=1))
    return _nll(node, logs), logs
