"""Operators that order elements: cumulative extremes, medians, positions in a sorted sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node
from byoc_lab.relay.ir.expr import Constant, Expr


@converts("cumprod.default")
def cumprod(node: Node) -> Any:
    return relay.cumprod(node.tensor("self", node.result_dtype), node.axis(), node.result_dtype)


@converts("cummax.default", "cummin.default")
def cumulative_extreme(node: Node) -> Any:
    """The cumulative maximum or minimum. Each iteration doubles the number of elements that a
    position covers. Among equal elements the last one is returned; nan counts as the extreme."""
    values, axis, shape = node["self"], node.axis(), node.static()
    if not shape:
        return values, Constant(np.zeros((), np.int64))
    length, better = shape[axis], "greater_equal" if node.overload == "cummax" else "less_equal"
    along = np.arange(length).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    places: Expr = Constant(np.ascontiguousarray(np.broadcast_to(along, shape)))

    def part(x: Expr, begin: int, end: int) -> Expr:
        return relay.strided_slice(x, [begin], [end], axes=[axis])

    seen = 1
    while seen < length:
        early, late = part(values, 0, length - seen), part(values, seen, length)
        wins = getattr(relay, better)(late, early)
        if "float" in node.dtype():
            wins = relay.logical_or(wins, relay.isnan(late))
        ahead = relay.where(wins, part(places, seen, length), part(places, 0, length - seen))
        places = relay.concatenate([part(places, 0, seen), ahead], axis=axis)
        late = relay.where(wins, late, early)
        values = relay.concatenate([part(values, 0, seen), late], axis=axis)
        seen *= 2
    return values, places


def _of_rank(node: Node, x: Expr, rank: int, axis: int, keep: bool) -> tuple[Expr, Expr]:
    """The element at a position of the sorted data, and its index before sorting."""
    places = relay.argsort(x, axis=axis, dtype="int64")
    found = (
        relay.take(each, relay.const(rank, "int64"), axis=axis, mode="clip")
        for each in (relay.sort(x, axis=axis), places)
    )
    value, place = (relay.expand_dims(each, axis=axis) if keep else each for each in found)
    return value, place


@converts("kthvalue.default")
def kthvalue(node: Node) -> Any:
    if not node.rank():
        return node["self"], Constant(np.zeros((), np.int64))
    return _of_rank(node, node["self"], int(node["k"]) - 1, node.axis(), bool(node["keepdim"]))


@converts("median.default", "median.dim")
def median(node: Node) -> Any:
    """The lower of the two middle elements; nan if any element is nan."""
    whole = node.name.endswith(".default")
    x, lengths = node["self"], node.static()
    if whole or not lengths:
        x, lengths = relay.reshape(x, (-1,)), (int(np.prod(lengths)),)
    axis = 0 if whole else node.axis()
    keep = not whole and bool(node["keepdim"]) and bool(node.rank())
    if not lengths[axis]:
        node.fail("the median of no elements does not exist; export with at least one element")
    value, place = _of_rank(node, x, (lengths[axis] - 1) // 2, axis, keep)
    if "float" in node.dtype():
        nans = relay.cast(relay.isnan(x), "int8")
        some = relay.cast(relay.max(nans, axis=[axis], keepdims=keep), "bool")
        first = relay.cast(relay.argmax(nans, axis=[axis], keepdims=keep), "int64")
        place = relay.where(some, first, place)
        value = relay.where(some, Constant(np.full((), np.nan, node.dtype())), value)
    return value if whole else (value, place)


@converts("bucketize.Tensor", "searchsorted.Tensor")
def places_in_order(node: Node) -> Any:
    """For each value the number of boundaries that are less than it; with `right`, less or equal.
    For nan it is the number of all boundaries."""
    names = ("self", "boundaries") if node.overload == "bucketize" else ("self", "sorted_sequence")
    values, boundaries = (node[name] for name in names)
    right = bool(node["right"])
    if node.overload == "searchsorted":
        right = right or node["side"] == "right"
        if node["sorter"] is not None:
            node.fail("a sorter is not supported; sort the sequence before, by torch.gather")
    if len(node.shape(names[1])) > 1:
        boundaries = relay.expand_dims(boundaries, axis=-2)
    beyond = (relay.greater if right else relay.greater_equal)(
        boundaries, relay.expand_dims(values, axis=-1)
    )
    return relay.sum(relay.cast(relay.logical_not(beyond), node.result_dtype), axis=[-1])
