"""Reductions, argmin and argmax, and sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node, flat
from byoc_lab.relay.ir.expr import Constant, Expr


def _axes(node: Node, name: str = "dim") -> list[int] | None:
    """Axes counted from 0; None for all axes."""
    given = node[name]
    axes = [given] if isinstance(given, int) else flat(given)
    return [a % max(node.rank(), 1) for a in axes] or None


@converts(
    "sum.default", "sum.dim_IntList", "mean.default", "mean.dim", "prod.default", "prod.dim_int"
)
def sum_like(node: Node) -> Any:
    x = node.tensor("self", node.result_dtype)
    build = getattr(relay, node.overload)
    if node.name.endswith(".default"):
        return build(x)
    return build(x, axis=_axes(node), keepdims=bool(node["keepdim"]))


@converts("amax.default", "amin.default")
def extreme(node: Node) -> Any:
    build = relay.max if node.overload == "amax" else relay.min
    return build(node["self"], axis=_axes(node), keepdims=bool(node["keepdim"]))


@converts("max.default", "min.default")
def extreme_of_all(node: Node) -> Any:
    return getattr(relay, node.overload)(node["self"])


@converts("max.dim", "min.dim")
def extreme_and_place(node: Node) -> Any:
    axis, keep = _axes(node), bool(node["keepdim"])
    place = relay.argmax if node.overload == "max" else relay.argmin
    found = getattr(relay, node.overload)(node["self"], axis=axis, keepdims=keep)
    return found, relay.cast(place(node["self"], axis=axis, keepdims=keep), "int64")


@converts("argmax.default", "argmin.default")
def place_of_extreme(node: Node) -> Any:
    build = relay.argmax if node.overload == "argmax" else relay.argmin
    if node["dim"] is None:
        return relay.cast(build(relay.reshape(node["self"], (-1,)), axis=0), "int64")
    return relay.cast(
        build(node["self"], axis=_axes(node), keepdims=bool(node["keepdim"])), "int64"
    )


@converts("var.correction", "std.correction", "var.dim", "std.dim", "var_mean.correction")
def variance(node: Node) -> Any:
    """The divisor is the number of elements minus the correction (1 by default), and at least 0."""
    axes = _axes(node) or list(range(node.rank()))
    keep = bool(node["keepdim"])
    if node.name.endswith(".dim"):
        correction = 1 if node["unbiased"] else 0
    else:
        correction = 1 if node["correction"] is None else node["correction"]
    found = relay.variance(node["self"], axis=axes, keepdims=keep)
    if correction:
        count = float(np.prod([node.static()[a] for a in axes]))
        freedom = max(count - correction, 0)
        scale = count / freedom if freedom else np.inf
        found = found * Constant(np.asarray(scale, node.dtype()))
    if node.overload == "var_mean":
        return found, relay.mean(node["self"], axis=axes, keepdims=keep)
    return relay.sqrt(found) if node.overload == "std" else found


@converts("logsumexp.default")
def logsumexp(node: Node) -> Any:
    """Subtracts the maximum of the row if it is finite: a row with inf, or with only -inf, returns
    that value."""
    x, axes, keep = node["self"], _axes(node), bool(node["keepdim"])
    most = relay.max(x, axis=axes, keepdims=True)
    zero = Constant(np.zeros((), node.dtype()))
    most = relay.where(relay.isinf(most), zero, most)
    found = relay.log(relay.sum(relay.exp(x - most), axis=axes, keepdims=keep))
    return found + (most if keep else relay.squeeze(most, axis=axes))


@converts("any.default", "any.dim", "any.dims", "all.default", "all.dim", "all.dims")
def any_or_all(node: Node) -> Any:
    x = node.tensor("self", "bool")
    build = getattr(relay, node.overload)
    if node.name.endswith(".default"):
        return build(x)
    return build(x, axis=_axes(node), keepdims=bool(node["keepdim"]))


@converts("linalg_vector_norm.default")
def vector_norm(node: Node) -> Any:
    return _norm(node, node["self"], node["ord"], _axes(node), bool(node["keepdim"]))


@converts("_cdist_forward.default")
def distances(node: Node) -> Any:
    """The distance from each row of the first matrix to each row of the second, in the p-norm."""
    rows = relay.expand_dims(node["x1"], axis=-2) - relay.expand_dims(node["x2"], axis=-3)
    return _norm(node, rows, node["p"], [-1], False)


def _norm(node: Node, x: Expr, order: float, axes: list[int] | None, keep: bool) -> Expr:
    if order == 2:
        return relay.sqrt(relay.sum(x * x, axis=axes, keepdims=keep))
    if order == 1:
        return relay.sum(relay.abs(x), axis=axes, keepdims=keep)
    if abs(order) == np.inf:
        build = relay.max if order > 0 else relay.min
        return build(relay.abs(x), axis=axes, keepdims=keep)
    dtype = node.result_dtype
    if order == 0:
        zero = Constant(np.zeros((), dtype))
        return relay.sum(relay.cast(relay.not_equal(x, zero), dtype), axis=axes, keepdims=keep)
    power, root = (Constant(np.asarray(n, dtype)) for n in (order, 1 / order))
    total: Expr = relay.sum(relay.power(relay.abs(x), power), axis=axes, keepdims=keep)
    return relay.power(total, root)


@converts("topk.default")
def topk(node: Node) -> Any:
    found = relay.topk(
        node["self"], int(node["k"]), axis=node.axis(), is_ascend=not node["largest"], dtype="int64"
    )
    return found[0], found[1]


@converts("sort.default", "sort.stable")
def sort(node: Node) -> Any:
    axis, ascending = node.axis(), not node["descending"]
    values = relay.sort(node["self"], axis=axis, is_ascend=ascending)
    return values, relay.argsort(node["self"], axis=axis, is_ascend=ascending, dtype="int64")
