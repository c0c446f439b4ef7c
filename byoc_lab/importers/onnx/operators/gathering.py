"""Gathering and scattering of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.relay.ir.expr import Constant, Expr


def _from_start(node: Node, indices: Expr, length: Expr | int) -> Expr:
    """Converts indices that may be negative to indices counted from 0."""
    dtype = node.dtype(indices)
    zero = relay.const(0, dtype)
    size = relay.const(length, dtype) if isinstance(length, int) else relay.cast(length, dtype)
    return relay.where(relay.less(indices, zero), indices + size, indices)


def _length(node: Node, x: Expr, axis: int) -> Expr | int:
    ty = node.type_of(x)
    if ty.is_static:
        return node.shape(x)[axis]
    return relay.take(relay.shape_of(x, "int64"), relay.const(axis, "int64"), axis=0)


@converts("Gather")
def gather(node: Node) -> Expr:
    x, indices = node[0], node[1]
    axis = node.attr("axis", 0)
    found = _from_start(node, indices, _length(node, x, node.axis(axis, node.rank(x))))
    return relay.take(x, found, axis=axis)


@converts("GatherElements")
def gather_elements(node: Node) -> Expr:
    x = node[0]
    axis = node.axis(node.attr("axis", 0), node.rank(x))
    return relay.gather(x, axis, _from_start(node, node[1], _length(node, x, axis)))


@converts("GatherND")
def gather_nd(node: Node) -> Expr:
    batch = node.attr("batch_dims", 0)
    indices = _nd_from_start(node, node[0], node[1], batch)
    rank = node.rank(indices)
    order = [rank - 1, *range(rank - 1)]
    depth = node.length(indices, rank - 1)
    return relay.gather_nd(node[0], relay.transpose(indices, axes=order), batch, depth)


def _nd_from_start(node: Node, x: Expr, indices: Expr, batch: int) -> Expr:
    depth = node.length(indices, node.rank(indices) - 1)
    value = node.value(1)
    if value is not None and (value >= 0).all():
        return indices
    lengths = np.array(node.shape(x)[batch : batch + depth]).astype(node.dtype(indices))
    zero = relay.const(0, node.dtype(indices))
    return relay.where(relay.less(indices, zero), indices + Constant(lengths), indices)


REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _reduction(node: Node) -> str:
    name = node.attr("reduction", "none")
    if name not in REDUCTIONS:
        node.fail(f"reduction {name!r:.40} does not exist; {', '.join(REDUCTIONS)} do")
    return REDUCTIONS[name]


@converts("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> Expr:
    x = node[0]
    axis = node.axis(node.attr("axis", 0), node.rank(x))
    indices = _from_start(node, node[1], _length(node, x, axis))
    return relay.scatter_elements(x, indices, node[2], axis, _reduction(node))


@converts("ScatterND")
def scatter_nd(node: Node) -> Expr:
    indices = _nd_from_start(node, node[0], node[1], 0)
    rank = node.rank(indices)
    order = [rank - 1, *range(rank - 1)]
    transposed = relay.transpose(indices, axes=order)
    return relay.scatter_nd(node[0], transposed, node[2], _reduction(node))


@converts("Compress")
def compress(node: Node) -> Expr:
    x, axis = node[0], node.attr("axis", None)
    chosen = relay.squeeze(relay.argwhere(node[1]), axis=[1])
    if axis is None:
        return relay.take(relay.reshape(x, (-1,)), chosen, axis=0)
    return relay.take(x, chosen, axis=axis)


@converts("OneHot")
def one_hot(node: Node) -> Expr:
    known = node.value(1)
    at_run_time = relay.reshape(relay.cast(node[1], "int64"), ())
    depth: Any = at_run_time if known is None else int(known.item())
    indices = relay.cast(node[0], "int64")
    values = node[2]
    off, on = (relay.take(values, relay.const(i, "int64"), axis=0) for i in (0, 1))
    rank = node.rank(node[0])
    axis = node.axis(node.attr("axis", -1), rank + 1)
    found = _from_start(node, indices, depth)
    return relay.one_hot(found, on, off, depth, axis, node.dtype(values))


@converts("Trilu")
def trilu(node: Node) -> Expr:
    k = node.optional(1)
    if k is None:
        k = relay.const(0, "int64")
    elif node.rank(k):
        k = relay.squeeze(k)
    return relay.trilu(node[0], k, bool(node.attr("upper", 1)))
