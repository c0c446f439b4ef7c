"""Normalizations."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.op.tensor.shape import reshaped_to


def _vector(node: Node, name: str, length: int, default: float) -> Expr:
    """An optional weight or bias."""
    given: Expr | None = node[name]
    return Constant(np.full(length, default, node.dtype("input"))) if given is None else given


@converts("batch_norm.default", "_native_batch_norm_legit_no_training.default")
def batch_norm(node: Node) -> Any:
    if node.overload == "batch_norm" and node["training"]:
        node.fail("batch norm in training mode is not supported; call module.eval()")
    channels = node.shape("input")[1]
    mean, variance = node["running_mean"], node["running_var"]
    if mean is None or variance is None or not isinstance(channels, int):
        node.fail("batch norm needs running statistics and a static number of channels")
    scale, bias = (_vector(node, n, channels, v) for n, v in (("weight", 1), ("bias", 0)))
    found = relay.nn.batch_norm(
        node["input"], scale, bias, mean, variance, axis=1, epsilon=float(node["eps"])
    )[0]
    return found if node.overload == "batch_norm" else (found, None, None)


@converts("layer_norm.default", "native_layer_norm.default")
def layer_norm(node: Node) -> Any:
    """nn.layer_norm over one dimension; several dimensions are flattened first."""
    shape = [int(n) for n in node["normalized_shape"]]
    length = int(np.prod(shape))
    x = node["input"]
    scale, bias = (_vector(node, n, length, v) for n, v in (("weight", 1), ("bias", 0)))
    if len(shape) > 1:
        x = reshaped_to(x, (*node.static("input")[: -len(shape)], length))
        scale, bias = (relay.reshape(v, (length,)) for v in (scale, bias))
    found = relay.nn.layer_norm(x, scale, bias, axis=-1, epsilon=float(node["eps"]))
    if len(shape) > 1:
        found = reshaped_to(found, node.static("input"))
    return found if node.overload == "layer_norm" else (found, None, None)


@converts("group_norm.default")
def group_norm(node: Node) -> Any:
    channels = node.static("input")[1]
    scale, bias = (_vector(node, n, channels, v) for n, v in (("weight", 1), ("bias", 0)))
    groups = int(node["num_groups"])
    return relay.nn.group_norm(node["input"], scale, bias, groups, epsilon=float(node["eps"]))


@converts("instance_norm.default")
def instance_norm(node: Node) -> Any:
    if not node["use_input_stats"]:
        node.fail("instance norm with running statistics is not supported")
    channels = node.static("input")[1]
    scale, bias = (_vector(node, n, channels, v) for n, v in (("weight", 1), ("bias", 0)))
    return relay.nn.instance_norm(node["input"], scale, bias, epsilon=float(node["eps"]))


@converts("rms_norm.default")
def rms_norm(node: Node) -> Any:
    """x divided by its root mean square."""
    x, dtype, rank = node["input"], node.dtype("input"), node.rank("input")
    axes = list(range(rank - len(node["normalized_shape"]), rank))
    eps = np.finfo(dtype).eps if node["eps"] is None else node["eps"]
    mean = relay.mean(x * x, axis=axes, keepdims=True)
    found = x * relay.rsqrt(mean + Constant(np.asarray(eps, dtype)))
    return found if node["weight"] is None else found * node["weight"]
