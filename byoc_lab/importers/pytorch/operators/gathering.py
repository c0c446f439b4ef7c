"""Gathering of elements, and embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.ir.ndarray import numpy_dtype
from byoc_lab.relay.op.tensor.shape import flattened_to, reshaped_to


@converts("embedding.default")
def embedding(node: Node) -> Any:
    return relay.take(node["weight"], node["indices"], axis=0)


@converts("index_select.default")
def index_select(node: Node) -> Any:
    return relay.take(node["self"], node["index"], axis=node.axis())


@converts("gather.default")
def gather(node: Node) -> Any:
    """The indices may have fewer elements than the data along the other axes; the data is sliced to
    fit."""
    axis, have, wanted = node.axis(), node.static(), node.static("index")
    x = node["self"]
    ends = [h if a == axis else w for a, (h, w) in enumerate(zip(have, wanted, strict=True))]
    if ends != list(have):
        x = relay.strided_slice(x, [0] * len(ends), ends)
    return relay.gather(x, axis, node["index"])


class Indices:
    """The integer tensors that index a call's `self`, and the axes that they index.

    axes: the indexed axes. rest: the others. common: the shape that the tensors broadcast to.
    adjacent: whether the indexed axes are consecutive. Then `common` replaces these axes in the
    result's shape; otherwise the result's shape begins with `common`.
    """

    def __init__(self, node: Node):
        self.node, self.shape = node, node.static()
        given = [(axis, raw) for axis, raw in enumerate(node.raw("indices")) if raw is not None]
        kinds = {str(raw.meta["val"].dtype) for _, raw in given}
        if "torch.bool" in kinds:
            node.fail("indexing by a mask is not supported: the result's shape depends on values")
        self.axes = [axis for axis, _ in given]
        self.rest = [a for a in range(len(self.shape)) if a not in self.axes]
        shapes = [node.shape_of(raw) for _, raw in given]
        if not all(isinstance(n, int) for shape in shapes for n in shape):
            node.fail(f"tensors that index must have static shapes, found {shapes}")
        self.common = list(np.broadcast_shapes(*shapes))
        self.adjacent = self.axes == list(range(self.axes[0], self.axes[-1] + 1))

    def flat(self) -> Expr:
        """The index in `rows()` of each indexed element, in the common shape: int64, counted from
        0."""
        total: Expr | None = None
        for axis in self.axes:
            length, zero = (Constant(np.asarray(n, "int64")) for n in (self.shape[axis], 0))
            places = relay.cast(self.node["indices"][axis], "int64")
            places = relay.where(relay.less(places, zero), places + length, places)
            total = places if total is None else total * length + places
        assert total is not None
        return relay.broadcast_to(total, self.common)

    @property
    def order(self) -> list[int]:
        return [*self.axes, *self.rest]

    def rows(self) -> Expr:
        """`self` with the indexed axes merged into one axis, which is moved to the front."""
        x: Expr = relay.transpose(self.node["self"], axes=self.order)
        return flattened_to(
            x, [self.shape[a] for a in self.axes], *(self.shape[a] for a in self.rest)
        )

    def restored(self, rows: Expr) -> Expr:
        """The inverse of `rows()`."""
        x = reshaped_to(rows, [self.shape[a] for a in self.order])
        return relay.transpose(x, axes=[self.order.index(a) for a in range(len(self.shape))])


@converts("index.Tensor")
def index(node: Node) -> Any:
    """Indexes by one integer tensor per indexed dimension."""
    given = [(axis, x) for axis, x in enumerate(node["indices"]) if x is not None]
    if len(given) > 1:
        return _index_by_several(Indices(node))
    ((axis, places),) = given
    raw = node.raw("indices")[axis].meta["val"]
    if str(raw.dtype) == "torch.bool":
        node.fail("indexing by a mask is not supported: the result's shape depends on values")
    length = Constant(np.asarray(node.static()[axis], str(raw.dtype).removeprefix("torch.")))
    zero = Constant(np.asarray(0, str(raw.dtype).removeprefix("torch.")))
    places = relay.where(relay.less(places, zero), places + length, places)
    return relay.take(node["self"], places, axis=axis)


def _index_by_several(indices: Indices) -> Expr:
    found = relay.take(indices.rows(), indices.flat(), axis=0)
    before = [a for a in indices.rest if a < indices.axes[0]]
    if not indices.adjacent or not before:
        return found
    common, rest = len(indices.common), len(indices.rest)
    order = [*range(common, common + len(before)), *range(common)]
    return relay.transpose(found, axes=[*order, *range(common + len(before), common + rest)])


@converts(
    "embedding_bag.default", "embedding_bag.padding_idx", "_embedding_bag_forward_only.default"
)
def embedding_bag(node: Node) -> Any:
    """Sum, mean or maximum of the embeddings in each bag; an empty bag gives 0."""
    dtype, places = node.dtype("weight"), node["indices"]
    count, padding = node.static("indices")[0], node["padding_idx"] if _has_padding(node) else -1
    starts = relay.expand_dims(relay.cast(node["offsets"], "int64"), axis=1)
    bags = node.static("offsets")[0]
    if node["include_last_offset"]:
        bags -= 1
        ends = relay.strided_slice(starts, [1], [bags + 1], axes=[0])
        starts = relay.strided_slice(starts, [0], [bags], axes=[0])
    else:
        last = Constant(np.array([[count]], "int64"))
        after = relay.strided_slice(starts, [1], [bags], axes=[0])
        ends = relay.concatenate([after, last], axis=0)
    number = Constant(np.arange(count)[None])
    inside = relay.logical_and(relay.less_equal(starts, number), relay.less(number, ends))
    if padding is not None and padding >= 0:
        skipped = Constant(np.asarray(padding, node.dtype("indices")))
        inside = relay.logical_and(inside, relay.expand_dims(relay.not_equal(places, skipped), 0))
    found = relay.take(node["weight"], places, axis=0)
    if node["mode"] == 2:
        return (_largest(inside, found, dtype), None, None, None)
    share = relay.cast(inside, dtype)
    one = Constant(np.ones((), numpy_dtype(dtype)))
    if node["mode"] == 1:
        share = share / relay.maximum(relay.sum(share, axis=[1], keepdims=True), one)
    if node["per_sample_weights"] is not None:
        share = share * relay.expand_dims(node["per_sample_weights"], axis=0)
    return (relay.nn.dense(share, relay.transpose(found, axes=(1, 0))), None, None, None)


def _has_padding(node: Node) -> bool:
    return any(a.name == "padding_idx" for a in node.fx.target._schema.arguments)


def _largest(inside: Expr, found: Expr, dtype: str) -> Expr:
    lowest, zero = (Constant(np.asarray(v, numpy_dtype(dtype))) for v in (-np.inf, 0))
    rows = relay.where(relay.expand_dims(inside, axis=2), relay.expand_dims(found, axis=0), lowest)
    some = relay.expand_dims(relay.any(inside, axis=[1]), axis=1)
    return relay.where(some, relay.max(rows, axis=[1]), zero)


@converts("one_hot.default")
def one_hot(node: Node) -> Any:
    classes = node.result_shape[-1]
    if not isinstance(classes, int):
        node.fail("the number of classes must be given")
    one, zero = (Constant(np.asarray(v, "int64")) for v in (1, 0))
    return relay.one_hot(node["self"], one, zero, classes, -1, "int64")
