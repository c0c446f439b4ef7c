"""Matrix products, and attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.op.tensor.shape import flattened_to, reshaped_to

Shape = tuple[Any, ...]


@converts("linear.default")
def linear(node: Node) -> Any:
    """nn.dense of rows; leading dimensions are flattened first."""
    shape, units = node.shape("input"), node.static("weight")[0]
    x = node["input"]
    if len(shape) != 2:
        x = flattened_to(x, shape[:-1], node.static("weight")[1])
    found = relay.nn.dense(x, node["weight"], units=units)
    if node["bias"] is not None:
        found = relay.nn.bias_add(found, node["bias"])
    return found if len(shape) == 2 else reshaped(node, found)


def reshaped(node: Node, x: Expr, shape: list[Any] | None = None) -> Expr:
    """`x` reshaped to the result's shape. One arbitrary size may be known at run time only; other
    such sizes must be sizes of arguments."""
    wanted = node.result_shape if shape is None else shape
    unknown = [n for n in wanted if not isinstance(n, int)]
    if len(unknown) <= 1:
        return reshaped_to(x, [n if isinstance(n, int) else -1 for n in wanted])
    sizes = {n: node.size_at_run_time(n) for n in unknown}
    if sum(sizes[n] is None for n in unknown) > 1:
        node.fail(f"at most one size of {wanted} may differ from all sizes of the arguments")
    inferred = Constant(np.array([-1]))
    parts = [
        Constant(np.array([n])) if isinstance(n, int) else sizes[n] or inferred for n in wanted
    ]
    found = relay.reshape(x, node.typed(relay.concatenate(parts, axis=0)), allowzero=True)
    # Reshape again, for the type: 0 keeps the size that the first reshape gave.
    return relay.reshape(found, [n if isinstance(n, int) else 0 for n in wanted])


@converts("addmm.default")
def addmm(node: Node) -> Any:
    """beta * self + alpha * mat1 @ mat2."""
    dtype = node.result_dtype
    turned = relay.transpose(node["mat2"], axes=(1, 0))
    found = relay.nn.dense(node["mat1"], turned, units=node.static("mat2")[1])
    if node["alpha"] != 1:
        found = found * Constant(np.asarray(node["alpha"], dtype))
    added = node["self"]
    if node["beta"] != 1:
        added = added * Constant(np.asarray(node["beta"], dtype))
    return found + added


@converts("mm.default")
def mm(node: Node) -> Any:
    return product(node, node["self"], node.shape("self"), node["mat2"], node.shape("mat2"))


@converts("bmm.default")
def bmm(node: Node) -> Any:
    return product(node, node["self"], node.shape("self"), node["mat2"], node.shape("mat2"))


@converts("baddbmm.default")
def baddbmm(node: Node) -> Any:
    dtype = node.result_dtype
    found = product(
        node, node["batch1"], node.shape("batch1"), node["batch2"], node.shape("batch2")
    )
    alpha, beta = (Constant(np.asarray(node[n], dtype)) for n in ("alpha", "beta"))
    return beta * node["self"] + alpha * found


@converts("matmul.default", "mv.default", "dot.default")
def matmul(node: Node) -> Any:
    other = {"mv": "vec", "dot": "tensor"}.get(node.overload, "other")
    return product(node, node["self"], node.shape("self"), node[other], node.shape(other))


def product(node: Node, a: Expr, left: Shape, b: Expr, right: Shape) -> Expr:
    """NumPy's matmul of two expressions with the given shapes; the batch shape may have one dynamic
    size."""
    if len(left) == 1:
        found = product(node, relay.expand_dims(a, axis=0), (1, *left), b, right)
        return relay.squeeze(found, axis=[0 if len(right) == 1 else len(right) - 2])
    if len(right) == 1:
        found = product(node, a, left, relay.expand_dims(b, axis=1), (*right, 1))
        return relay.squeeze(found, axis=[len(left) - 1])
    if len(right) == 2:
        turned = relay.transpose(b, axes=(1, 0))
        rows = a if len(left) == 2 else flattened_to(a, left[:-1], left[-1])
        found = relay.nn.dense(rows, turned, units=right[1])
        return found if len(left) == 2 else reshaped(node, found, [*left[:-1], right[1]])
    batch = _batch(node, left[:-2], right[:-2])
    x, y = _batched(node, a, left, batch), _batched(node, b, right, batch)
    found = relay.nn.batch_matmul(x, relay.transpose(y, axes=(0, 2, 1)))
    return found if len(batch) == 1 else reshaped(node, found, [*batch, left[-2], right[-1]])


def _batch(node: Node, left: Shape, right: Shape) -> Shape:
    """The broadcast batch shape of a product; a dynamic size must be dynamic in both operands."""
    rank = max(len(left), len(right))
    pairs = zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right, strict=True)
    found: list[Any] = []
    for x, y in pairs:
        dynamic = [n for n in (x, y) if not isinstance(n, int)]
        if len(dynamic) == 1:
            node.fail(f"batches {left} and {right} cannot be broadcast while one is dynamic")
        found.append(dynamic[0] if dynamic else y if x == 1 else x)
    return tuple(found)


def _batched(node: Node, x: Expr, shape: Shape, batch: Shape) -> Expr:
    """`x` broadcast to the batch shape, then with the batches flattened into one dimension."""
    static = all(isinstance(n, int) for n in batch)
    if static and shape[:-2] != batch:
        x = relay.broadcast_to(x, (*batch, *shape[-2:]))
    elif not static and len(shape) - 2 != len(batch):
        node.fail(f"shape {shape} cannot be broadcast to the dynamic batches {batch}")
    if len(batch) == 1:
        return x
    if all(isinstance(n, int) for n in shape[-2:]):
        return flattened_to(x, batch, *shape[-2:])
    return reshaped(node, x, [math.prod(batch), *shape[-2:]])


@converts("scaled_dot_product_attention.default")
def attention(node: Node) -> Any:
    """softmax(query @ key^T * scale + mask) @ value."""
    q, k, v = (node.shape(name) for name in ("query", "key", "value"))
    dtype, rank = node.result_dtype, len(q)
    if not isinstance(q[-1], int):
        node.fail(f"the features of attention must be static, found {q}")
    if node["dropout_p"]:
        node.fail("dropout draws random numbers; call module.eval()")
    keys, values = node["key"], node["value"]
    if node["enable_gqa"]:  # several query heads share a key head
        if not all(isinstance(n, int) for n in (q[-3], k[-3])):
            node.fail(f"the numbers of heads must be static, found {q} and {k}")
        keys, values = (relay.repeat(x, q[-3] // k[-3], axis=rank - 3) for x in (keys, values))
        k, v = (*k[:-3], q[-3], *k[-2:]), (*v[:-3], q[-3], *v[-2:])
    order = [*range(rank - 2), rank - 1, rank - 2]
    turned = relay.transpose(keys, axes=order)
    scores = product(node, node["query"], q, turned, tuple(k[i] for i in order))
    scale = 1 / math.sqrt(q[-1]) if node["scale"] is None else float(node["scale"])
    scores = scores * Constant(np.asarray(scale, dtype))
    mask = node["attn_mask"]
    if node["is_causal"]:
        scores = _causal(scores, q[-2], k[-2], dtype)
    elif mask is not None and node.dtype("attn_mask") == "bool":
        zero, least = (Constant(np.asarray(value, dtype)) for value in (0, -np.inf))
        scores = scores + relay.where(mask, zero, least)
    elif mask is not None:
        scores = scores + mask
    shape = (*_batch(node, q[:-2], k[:-2]), q[-2], k[-2])
    weights = relay.nn.softmax(scores, -1)
    if mask is not None and _may_mask_a_row(mask):
        weights = _without_masked_rows(scores, weights, dtype)
    return product(node, weights, shape, values, v)


def _causal(scores: Expr, queries: Any, keys: Any, dtype: str) -> Expr:
    """Scores with -inf for each key after its query."""
    if isinstance(queries, int) and isinstance(keys, int):
        lower = np.tril(np.ones((queries, keys), bool))
        return scores + Constant(np.where(lower, 0, -np.inf).astype(dtype))
    seen = relay.trilu(relay.ones_like(scores), Constant(np.array(0, np.int64)), False)
    return relay.where(relay.cast(seen, "bool"), scores, Constant(np.asarray(-np.inf, dtype)))


def _may_mask_a_row(mask: Expr) -> bool:
    if not isinstance(mask, Constant):
        return True
    array = mask.numpy()
    hidden = ~array if array.dtype == bool else array == -np.inf
    return bool(hidden.all(axis=-1).any())


def _without_masked_rows(scores: Expr, weights: Expr, dtype: str) -> Expr:
    """Sets the weights of queries that may attend to no key to 0, as PyTorch does; their softmax is
    nan."""
    lowest, zero = (Constant(np.asarray(value, dtype)) for value in (-np.inf, 0))
    masked = relay.all(relay.equal(scores, lowest), axis=-1, keepdims=True)
    return relay.where(masked, zero, weights)


@converts("einsum.default")
def einsum(node: Node) -> Any:
    return relay.einsum(node["tensors"], node["equation"])
