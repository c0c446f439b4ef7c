"""Operators that write elements: slice assignment, index_put, scatter."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node
from byoc_lab.importers.pytorch.operators.gathering import Indices
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.ir.ndarray import numpy_dtype
from byoc_lab.relay.op.tensor.shape import reshaped_to

REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}


def _filled(node: Node, name: str, value: Any) -> Expr:
    """A constant with the shape of an argument and the data type of `self`."""
    return Constant(np.full(node.static(name), value, numpy_dtype(node.dtype())))


@converts("select_scatter.default")
def select_scatter(node: Node) -> Any:
    """self with one slice replaced."""
    shape, axis = node.static(), node.axis()
    index = int(node["index"]) % shape[axis]
    mask = np.zeros([n if i == axis else 1 for i, n in enumerate(shape)], bool)
    mask.reshape(-1)[index] = True
    return relay.where(Constant(mask), relay.expand_dims(node["src"], axis=axis), node["self"])


@converts("slice_scatter.default")
def slice_scatter(node: Node) -> Any:
    """self with a slice replaced: each position is taken from self, or from src, which is appended
    to it."""
    length, axis = node.static()[node.axis()], node.axis()
    places = np.arange(length)
    replaced = places[slice(node["start"], node["end"], node["step"])]
    if len(replaced) == length:
        return node["src"]
    places[replaced] = length + np.arange(len(replaced))
    both = relay.concatenate([node["self"], node["src"]], axis=axis)
    return relay.take(both, Constant(places), axis=axis, mode="clip")


@converts("index_put.default")
def index_put(node: Node) -> Any:
    """self[indices] = values, or += with accumulate. With a mask: a single value."""
    (first, *more) = [n for n in node.raw("indices") if n is not None]
    if not more and str(first.meta["val"].dtype) == "torch.bool":
        return _put_by_mask(node, first.meta["val"].dim())
    indices = Indices(node)
    shape = [*indices.common, *(indices.shape[a] for a in indices.rest)]
    values = node["values"]
    if indices.adjacent:  # the common axes replace the indexed axes
        before = [a for a in indices.rest if a < indices.axes[0]]
        lengths = [indices.shape[a] for a in indices.rest]
        wanted = [*lengths[: len(before)], *indices.common, *lengths[len(before) :]]
        count, common = len(before), len(indices.common)
        values = relay.broadcast_to(values, wanted)
        order = [*range(count, count + common), *range(count), *range(count + common, len(wanted))]
        values = relay.transpose(values, axes=order)
    else:
        values = relay.broadcast_to(values, shape)
    rest = shape[len(indices.common) :]
    updates = reshaped_to(values, (prod(indices.common), *rest))
    places = relay.reshape(indices.flat(), (1, -1))
    mode = "add" if node["accumulate"] else "update"
    return indices.restored(relay.scatter_nd(indices.rows(), places, updates, mode))


def _put_by_mask(node: Node, rank: int) -> Any:
    if node["accumulate"] or prod(node.static("values")) != 1:
        node.fail("with a mask, only a single value can be written, found several")
    (mask,) = (x for x in node["indices"] if x is not None)
    axis = next(i for i, n in enumerate(node.raw("indices")) if n is not None)
    behind = node.rank() - axis - rank
    mask = relay.expand_dims(mask, axis=rank, num_newaxis=behind) if behind else mask
    return relay.where(mask, relay.reshape(node["values"], ()), node["self"])


@converts("scatter.src", "scatter_add.default")
def scatter(node: Node) -> Any:
    reduction = "add" if node.overload == "scatter_add" else "update"
    return relay.scatter_elements(node["self"], node["index"], node["src"], node.axis(), reduction)


@converts("scatter_reduce.two")
def scatter_reduce(node: Node) -> Any:
    """Without include_self, the written elements start from the neutral element."""
    dtype, kind, own = node.dtype(), node["reduce"], bool(node["include_self"])
    if kind not in REDUCTIONS or (kind == "mean" and "float" not in dtype):
        node.fail(f"reduction {kind!r:.20} of {dtype} is not supported")
    x, index, axis = node["self"], node["index"], node.axis()
    if not own:
        neutral = _filled(node, "index", _neutral(kind, dtype))
        x = relay.scatter_elements(x, index, neutral, axis, "update")
    found = relay.scatter_elements(x, index, node["src"], axis, REDUCTIONS[kind])
    if kind != "mean":
        return found
    start = _filled(node, "self", 1 if own else 0)
    counts = relay.scatter_elements(start, index, _filled(node, "index", 1), axis, "add")
    return found / relay.maximum(counts, Constant(np.ones((), numpy_dtype(dtype))))


def _neutral(kind: str, dtype: str) -> Any:
    if kind in ("sum", "mean", "prod"):
        return 1 if kind == "prod" else 0
    if "float" in dtype:
        return -np.inf if kind == "amax" else np.inf
    limits = np.iinfo(dtype)
    return limits.min if kind == "amax" else limits.max


@converts("copy.default")
def copy(node: Node) -> Any:
    """src with the shape and data type of self, as written by a slice assignment."""
    found = node.tensor("src", node.dtype())
    return found if node.shape("src") == node.shape() else relay.broadcast_to(found, node.static())
