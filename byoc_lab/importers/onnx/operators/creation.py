"""Operators that create tensors."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.importers.onnx.reading import dtype_of
from byoc_lab.relay.ir.expr import Constant, Expr


@converts("Constant")
def constant(node: Node) -> Expr:
    if node.has("value"):
        return Constant(node.attr("value"))
    for name, dtype in (
        ("value_float", "float32"),
        ("value_floats", "float32"),
        ("value_int", "int64"),
        ("value_ints", "int64"),
    ):
        if node.has(name):
            return Constant(np.array(node.attr(name), dtype))
    node.fail("only constants of numbers are supported, found strings or a sparse tensor")


@converts("ConstantOfShape")
def constant_of_shape(node: Node) -> Expr:
    found = node.attr("value", np.zeros(1, np.float32))
    value = relay.const(found.reshape(-1)[0], str(found.dtype))
    shape = node.value(0)
    if shape is None:
        return relay.full(value, node[0], str(found.dtype))
    lengths = [int(n) for n in shape.ravel()]
    if any(n < 0 for n in lengths):
        node.fail(f"sizes must not be negative, found {lengths}")
    return relay.full(value, lengths, str(found.dtype))


@converts("Range")
def arange(node: Node) -> Expr:
    start, stop, step = node[0], node[1], node[2]
    return relay.arange(start, stop, step, node.dtype(start))


@converts("EyeLike")
def eye_like(node: Node) -> Expr:
    dtype = dtype_of(node.attr("dtype")) if node.has("dtype") else node.dtype(node[0])
    shape = node.shape(node[0])
    if len(shape) != 2:
        node.fail(f"the data must have 2 dimensions, found {len(shape)}")
    return Constant(np.eye(shape[0], shape[1], node.attr("k", 0)).astype(dtype))


def _window(node: Node, coefficients: tuple[float, ...]) -> Expr:
    """A cosine window; `periodic` divides by its length, otherwise by its length - 1."""
    length = int(node.known(0, "the length").item())
    divisor = length if node.attr("periodic", 1) else length - 1
    angle = 2 * np.pi * np.arange(length) / max(divisor, 1)
    value = sum(c * np.cos(i * angle) for i, c in enumerate(coefficients))
    dtype = dtype_of(node.attr("output_datatype", 1))
    return Constant(np.asarray(value).astype(dtype))


@converts("HannWindow")
def hann_window(node: Node) -> Expr:
    return _window(node, (0.5, -0.5))


@converts("HammingWindow")
def hamming_window(node: Node) -> Expr:
    return _window(node, (25 / 46, -21 / 46))


@converts("BlackmanWindow")
def blackman_window(node: Node) -> Expr:
    return _window(node, (0.42, -0.5, 0.08))
