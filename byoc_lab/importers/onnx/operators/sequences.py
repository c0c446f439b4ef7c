"""Sequences and optional values, whose elements must be known at import time."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import EMPTY, Node
from byoc_lab.relay.ir.expr import Expr

Sequences = tuple[list[Expr]]  # a single output that is a sequence


@converts("Identity")
def identity(node: Node) -> Any:
    found = node.any_input(0)
    return (found,) if isinstance(found, list) else relay.copy(node[0])


@converts("Optional")
def optional(node: Node) -> Any:
    found = node.any_input(0)
    return (EMPTY if found is None else found,)


@converts("OptionalHasElement")
def optional_has_element(node: Node) -> Expr:
    return relay.const(node.any_input(0) is not None)


@converts("OptionalGetElement")
def optional_get_element(node: Node) -> Any:
    found = node.any_input(0)
    if found is None:
        node.fail("the optional has no value")
    return (found,)


@converts("SequenceConstruct")
def sequence_construct(node: Node) -> Sequences:
    return (node.given,)


@converts("SequenceEmpty")
def sequence_empty(node: Node) -> Sequences:
    return ([],)


def _place(node: Node, index: int, length: int) -> int:
    """A position, counted from 0."""
    place = int(node.known(index, "the position").item())
    if not -length <= place < length:
        node.fail(f"position {place} is out of range for {length} elements")
    return place % length


@converts("SequenceAt")
def sequence_at(node: Node) -> Expr:
    elements = node.sequence(0)
    return elements[_place(node, 1, len(elements))]


@converts("SequenceLength")
def sequence_length(node: Node) -> Expr:
    return relay.const(len(node.sequence(0)), "int64")


@converts("SequenceInsert")
def sequence_insert(node: Node) -> Sequences:
    elements = list(node.sequence(0))
    given = node.optional(2) is not None
    elements.insert(_place(node, 2, len(elements) + 1) if given else len(elements), node[1])
    return (elements,)


@converts("SequenceErase")
def sequence_erase(node: Node) -> Sequences:
    elements = list(node.sequence(0))
    given = node.optional(1) is not None
    del elements[_place(node, 1, len(elements)) if given else -1]
    return (elements,)


@converts("ConcatFromSequence")
def concat_from_sequence(node: Node) -> Expr:
    elements, axis = node.sequence(0), int(node.attr("axis"))
    if node.attr("new_axis", 0):
        return relay.stack(elements, axis=axis)
    return relay.concatenate(elements, axis=axis)


@converts("SplitToSequence")
def split_to_sequence(node: Node) -> Sequences:
    """Splits into parts of equal or of given sizes; by default into slices of size 1, without the
    axis unless keepdims is set."""
    x = node[0]
    axis = node.axis(node.attr("axis", 0), node.rank(x))
    length = node.length(x, axis)
    if node.optional(1) is None:
        sizes, keep = [1] * length, bool(node.attr("keepdims", 1))
    else:
        given = node.known(1, "the sizes")
        size = int(given.item()) if given.ndim == 0 else 0
        if given.ndim == 0 and size < 1:
            node.fail(f"the size of the parts must be positive, found {size}")
        steps = range(0, length, size or 1)
        sizes = [min(size, length - start) for start in steps] if size else given.tolist()
        keep = True
    if sum(sizes) != length or len(sizes) < 1:
        node.fail(f"parts of {sizes} do not add up to {length} elements")
    ends = [int(n) for n in np.cumsum(sizes)[:-1]]
    parts = relay.split(x, ends, axis=axis) if ends else [x]
    elements = [parts[i] for i in range(len(sizes))]
    return (elements if keep else [relay.squeeze(p, axis=[axis]) for p in elements],)
