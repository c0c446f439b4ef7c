"""Reductions, argmin and argmax, and sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.importers.onnx.operators.shapes import axes_of
from byoc_lab.relay.ir.expr import Constant, Expr

Reduce = Callable[[Expr, Any, bool], Expr]


def _axes_at_run_time(node: Node) -> bool:
    since = 13 if node.op_type == "ReduceSum" else 18
    return node.opset >= since and node.optional(1) is not None and node.value(1) is None


def _axes(node: Node) -> tuple[list[int] | None, bool]:
    """The axes to reduce (None: all axes), and whether nothing is reduced (each element is its own
    result)."""
    axes = axes_of(node, 13 if node.op_type == "ReduceSum" else 18)
    if axes:
        return axes, False
    return None, bool(node.attr("noop_with_empty_axes", 0))


@converts(
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
    "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp",
)  # fmt: skip
def reduction(node: Node) -> Expr:
    keepdims = bool(node.attr("keepdims", 1))
    if _axes_at_run_time(node) and node.shape(node[1]) != (0,):
        return _by_kind(node, lambda x, build: _over_unknown_axes(node, x, build, keepdims))
    axes, nothing = (
        (None, bool(node.attr("noop_with_empty_axes", 0)))
        if _axes_at_run_time(node)
        else _axes(node)
    )
    if nothing:
        return _by_kind(node, lambda x, _: x)
    return _by_kind(node, lambda x, build: build(x, axis=axes, keepdims=keepdims))


def _by_kind(node: Node, reduced: Callable[[Expr, Any], Expr]) -> Expr:
    """Builds a reduction: the operator `reduced` (sum, mean, product or extreme), and the
    arithmetic around it."""
    x, kind = node[0], node.op_type.removeprefix("Reduce")
    if kind in ("Sum", "Mean", "Max", "Min", "Prod"):
        build = _mean(node) if kind == "Mean" else getattr(relay, kind.lower())
        if node.dtype(x) == "bool":
            return relay.cast(reduced(relay.cast(x, "uint8"), build), "bool")
        return reduced(x, build)
    if kind == "L1":
        return reduced(relay.abs(x), relay.sum)
    if kind == "SumSquare":
        return reduced(x * x, relay.sum)
    if kind == "L2":
        return relay.sqrt(reduced(x * x, relay.sum))
    if kind == "LogSum":
        return relay.log(reduced(x, relay.sum))
    if "float" not in node.dtype(x):
        node.fail(f"ReduceLogSumExp of {node.dtype(x)} is not supported")
    return reduced(x, relay.logsumexp)


def _mean(node: Node) -> Reduce:
    """The mean; 0 over no elements, as in ONNX Runtime."""

    def build(x: Expr, axis: Any, keepdims: bool) -> Expr:
        lengths = node.type_of(x).shape
        reduced = lengths if axis is None else [lengths[a] for a in axis]
        return (relay.sum if 0 in reduced else relay.mean)(x, axis=axis, keepdims=keepdims)

    return build


def _over_unknown_axes(node: Node, x: Expr, build: Any, keepdims: bool) -> Expr:
    """Reduces each axis if it is among the axes that are given at run time. A reduced axis keeps
    its size until the end, then it is sliced to 1 or removed.
    """
    shape = node.shape(x)
    rank = len(shape)
    axes = relay.cast(node[1], "int64")
    wanted = relay.where(relay.less(axes, _int64(0)), axes + _int64(rank), axes)
    flags = []
    for axis, length in enumerate(shape):
        flag = relay.max(relay.cast(relay.equal(wanted, _int64(axis)), "int64"))
        over = relay.broadcast_to(build(x, axis=[axis], keepdims=True), shape)
        x = relay.where(relay.cast(flag, "bool"), over, x)
        flags.append(relay.where(relay.cast(flag, "bool"), _int64(1), _int64(length)))
        flags[-1] = relay.reshape(flags[-1], (1,))
    ends = relay.concatenate(flags, axis=0) if rank > 1 else flags[0]
    cut = relay.strided_slice(x, Constant(np.zeros(rank, np.int64)), ends)
    if keepdims:
        return cut
    marks = [
        relay.reshape(relay.max(relay.cast(relay.equal(wanted, _int64(a)), "int64")), (1,))
        for a in range(rank)
    ]
    marked = relay.concatenate(marks, axis=0) if rank > 1 else marks[0]
    order = relay.argsort(marked, dtype="int64")
    kept = rank - node.shape(node[1])[0]
    if kept <= 0:
        return relay.reshape(cut, ())
    places = relay.strided_slice(order, [0], [kept])
    return relay.reshape(cut, relay.take(ends, relay.sort(places), axis=0))


def _int64(value: int) -> Expr:
    return relay.const(value, "int64")


@converts("ArgMax", "ArgMin")
def arg_extreme(node: Node) -> Expr:
    build = relay.argmax if node.op_type == "ArgMax" else relay.argmin
    found = build(
        node[0],
        axis=node.attr("axis", 0),
        keepdims=bool(node.attr("keepdims", 1)),
        select_last_index=bool(node.attr("select_last_index", 0)),
    )
    return relay.cast(found, "int64")


@converts("TopK")
def top_k(node: Node) -> tuple[Expr, Expr]:
    axis = node.attr("axis", -1)
    count: Any = node.attr("k") if node.opset < 10 else node.value(1)
    if count is None:
        count = relay.reshape(node[1], ())
    elif node.opset >= 10:
        count = int(count.item())
    found = relay.topk(
        node[0], count, axis=axis, is_ascend=not node.attr("largest", 1), dtype="int64"
    )
    return found[0], found[1]


@converts("NonZero")
def non_zero(node: Node) -> Expr:
    return relay.cast(relay.transpose(relay.argwhere(node[0]), axes=(1, 0)), "int64")


@converts("Unique")
def unique(node: Node) -> tuple[Expr, ...]:
    if node.attr("axis", None) is not None or node.rank(node[0]) != 1:
        node.fail("unique is supported for one dimension without an axis")
    found = relay.unique(node[0], is_sorted=bool(node.attr("sorted", 1)), return_counts=True)
    count = found[3]
    begin = relay.const([0], "int64")
    cut = [
        relay.strided_slice(relay.cast(found[i], "int64") if i else found[0], begin, _whole(count))
        for i in (0, 1, 4)
    ]
    return cut[0], cut[1], relay.cast(found[2], "int64"), cut[2]


def _whole(count: Expr) -> Expr:
    return relay.cast(count, "int64")
