"""Gathering of elements, and embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node
from byoc_lab.relay.ir.expr import Constant


@converts("embedding.default")
def embedding(node: Node) -> Any:
    return relay.take(node["weight"], node["indices"], axis=0)


@converts("index_select.default")
def index_select(node: Node) -> Any:
    return relay.take(node["self"], node["index"], axis=node.axis())


@converts("gather.default")
def gather(node: Node) -> Any:
    """The indices may be fewer than the data along the other axes: those are cut."""
    axis, have, wanted = node.axis(), node.static(), node.static("index")
    x = node["self"]
    ends = [h if a == axis else w for a, (h, w) in enumerate(zip(have, wanted, strict=True))]
    if ends != list(have):
        x = relay.strided_slice(x, [0] * len(ends), ends)
    return relay.gather(x, axis, node["index"])


@converts("index.Tensor")
def index(node: Node) -> Any:
    """One tensor of integers along one dimension."""
    given = [(axis, x) for axis, x in enumerate(node["indices"]) if x is not None]
    if len(given) != 1:
        node.fail(f"indexing by {len(given)} tensors at once is not supported; one is")
    ((axis, places),) = given
    raw = node.raw("indices")[axis].meta["val"]
    if str(raw.dtype) == "torch.bool":
        node.fail("indexing by a mask is not supported: the result's shape depends on values")
    length = Constant(np.asarray(node.static()[axis], str(raw.dtype).removeprefix("torch.")))
    zero = Constant(np.asarray(0, str(raw.dtype).removeprefix("torch.")))
    places = relay.where(relay.less(places, zero), places + length, places)
    return relay.take(node["self"], places, axis=axis)


@converts("scatter.src", "scatter_add.default")
def scatter(node: Node) -> Any:
    reduction = "add" if node.overload == "scatter_add" else "update"
    return relay.scatter_elements(node["self"], node["index"], node["src"], node.axis(), reduction)


@converts("one_hot.default")
def one_hot(node: Node) -> Any:
    classes = node.result_shape[-1]
    if not isinstance(classes, int):
        node.fail("the number of classes must be given")
    one, zero = (Constant(np.asarray(v, "int64")) for v in (1, 0))
    return relay.one_hot(node["self"], one, zero, classes, -1, "int64")
