"""Normalisations; formulas in native/src/ops/batch_norm.cc, layer_norm.cc and softmax.cc."""

from __future__ import annotations

from typing import Any

from byoc_lab.backends.dnnl.kernels.running import PostOps, run


def batch_norm(
    data: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    variance: Any,
    *,
    epsilon: float = 1e-5,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, for inference.

    data (N, C, ...), 2 to 5 dimensions; gamma, beta, mean and variance (C,).
    """
    tensors = {"data": data, "gamma": gamma, "beta": beta, "mean": mean, "variance": variance}
    return run("batch_norm", "batch_norm", tensors, {"epsilon": epsilon}, out, post_ops)


def layer_norm(
    data: Any,
    gamma: Any,
    beta: Any,
    *,
    epsilon: float = 1e-5,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta along the last axis.

    data (..., C); gamma and beta (C,). The variance is the sum of squared deviations divided by C.
    """
    tensors = {"data": data, "gamma": gamma, "beta": beta}
    return run("layer_norm", "layer_norm", tensors, {"epsilon": epsilon}, out, post_ops)


def softmax(data: Any, *, axis: int = -1, post_ops: PostOps = (), out: Any = None) -> Any:
    """exp(data) / sum(exp(data)) along `axis`, computed without overflow; any shape."""
    return run("softmax", "softmax", {"data": data}, {"axis": axis}, out, post_ops)


def log_softmax(data: Any, *, axis: int = -1, post_ops: PostOps = (), out: Any = None) -> Any:
    """data - log(sum(exp(data))) along `axis`, computed without overflow; any shape."""
    return run("log_softmax", "log_softmax", {"data": data}, {"axis": axis}, out, post_ops)
