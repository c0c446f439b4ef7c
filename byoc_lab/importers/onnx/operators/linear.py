"""Matrix products."""

from __future__ import annotations

import math
from typing import Any

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import MICROSOFT, converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.importers.onnx.operators.shapes import broadcast_lengths
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.op.tensor.shape import flattened_to, reshaped_to

Shape = tuple[Any, ...]


@converts("Gemm")
def gemm(node: Node) -> Expr:
    """alpha * A * B + beta * C."""
    a, b, dtype = node[0], node[1], node.dtype(node[0])
    alpha, beta = float(node.attr("alpha", 1.0)), float(node.attr("beta", 1.0))
    units = node.length(b, 0 if node.attr("transB", 0) else 1)
    if node.attr("transA", 0):
        a = relay.transpose(a, axes=(1, 0))
    if not node.attr("transB", 0):
        b = relay.transpose(b, axes=(1, 0))
    if node.rank(node[0]) != 2:
        a = relay.nn.batch_flatten(a)
    if alpha != 1.0:
        a = a * relay.const(alpha, dtype)
    product = relay.nn.dense(a, b, units=units)
    added = node.optional(2)
    if added is None:
        return product
    return product + (relay.const(beta, dtype) * added if beta != 1.0 else added)


@converts("MatMul")
def matmul(node: Node) -> Expr:
    return product(node, node[0], node[1])


@converts("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def fused_matmul(node: Node) -> Expr:
    """alpha * A * B, with A and B transposed as the attributes state."""
    found = product(node, _turned(node, 0, "A"), _turned(node, 1, "B"))
    alpha = float(node.attr("alpha", 1.0))
    return found if alpha == 1.0 else found * relay.const(alpha, node.dtype(node[0]))


def _turned(node: Node, index: int, side: str) -> Expr:
    """Transposes an operand: transBatch moves its first axis after the other batch axes, then trans
    swaps its last two axes. Vectors are unchanged."""
    x = node[index]
    order = list(range(node.rank(x)))
    if node.attr(f"transBatch{side}", 0) and len(order) > 2:
        order = [*order[1:-1], 0, order[-1]]
    if node.attr(f"trans{side}", 0) and len(order) > 1:
        order[-2:] = order[:-3:-1]
    return x if order == sorted(order) else node.typed(relay.transpose(x, axes=order))


@converts("MatMulInteger")
def matmul_integer(node: Node) -> Expr:
    """The matrix product of integers minus their zero points, in int32."""
    a, b = (relay.cast(node[i], "int32") for i in (0, 1))
    a = a - _zero_point(node, 2, column=True) if node.optional(2) is not None else a
    b = b - _zero_point(node, 3) if node.optional(3) is not None else b
    return product(node, a, b, "int32")


def _zero_point(node: Node, index: int, column: bool = False) -> Expr:
    zero = relay.cast(node[index], "int32")
    if column and node.rank(node[index]) == 1:
        return relay.expand_dims(zero, axis=1)
    return zero


def product(node: Node, a: Expr, b: Expr, out_dtype: str = "") -> Expr:
    """NumPy's matmul of two expressions: nn.dense if the right one is a matrix, else a batched
    product."""
    ranks = node.rank(a), node.rank(b)
    if ranks == (1, 1):
        row = relay.expand_dims(a, axis=0)
        dense = relay.nn.dense(row, relay.expand_dims(b, axis=0), out_dtype=out_dtype)
        return relay.squeeze(dense, axis=[0, 1])
    if ranks[0] == 1:
        return relay.squeeze(product(node, relay.expand_dims(a, axis=0), b, out_dtype), axis=[-2])
    if ranks[1] == 1:
        return relay.squeeze(product(node, a, relay.expand_dims(b, axis=1), out_dtype), axis=[-1])
    if ranks[1] == 2:
        return _by_dense(node, a, b, out_dtype)
    return _by_batches(node, a, b, out_dtype)


def _by_dense(node: Node, a: Expr, b: Expr, out_dtype: str) -> Expr:
    """nn.dense: the batches of the left operand are flattened into the rows of one matrix."""
    transposed = relay.transpose(b, axes=(1, 0))
    if node.rank(a) == 2:
        return relay.nn.dense(a, transposed, out_dtype=out_dtype)
    shape = node.type_of(a).shape
    width = node.length(b, 0)
    rows = flattened_to(a, shape[:-1], width)
    dense = relay.nn.dense(rows, transposed, out_dtype=out_dtype)
    units = node.length(b, 1)
    if node.type_of(a).is_static:
        return reshaped_to(dense, (*node.shape(a)[:-1], units))
    middle = [n for n in shape[1:-1] if isinstance(n, int)]
    if len(middle) == len(shape) - 2:
        return reshaped_to(dense, (-1, *middle, units))
    kept = relay.strided_slice(relay.shape_of(a, "int64"), [0], [len(shape) - 1])
    wanted = relay.concatenate([kept, relay.const([units], "int64")], axis=0)
    return node.reshaped(dense, node.typed(wanted), allowzero=True)


def _by_batches(node: Node, a: Expr, b: Expr, out_dtype: str) -> Expr:
    left, right = tuple(node.type_of(a).shape), tuple(node.type_of(b).shape)
    batch = _broadcast(left[:-2], right[:-2])
    if batch is None or not (_can_flatten(left, batch) and _can_flatten(right, batch)):
        return _by_batches_at_run_time(node, a, b, out_dtype)
    wanted = _newshape((*batch, left[-2], right[-1]))
    if len(wanted) > 3 and wanted.count(-1) > 1:
        return _by_batches_at_run_time(node, a, b, out_dtype)
    a, b = _batched(a, left, batch), _batched(b, right, batch)
    turned = node.graph.use_nt_batch_matmul
    b = relay.transpose(b, axes=(0, 2, 1)) if turned else b
    found = relay.nn.batch_matmul(a, b, out_dtype=out_dtype, transpose_b=turned)
    return found if len(wanted) == 3 else reshaped_to(found, wanted)


def _broadcast(a: Shape, b: Shape) -> Shape | None:
    """The broadcast batch shape of a product. Sizes that are dynamic in both operands are assumed
    to be equal. None if a size is dynamic in one operand only."""
    rank = max(len(a), len(b))
    found = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        if sum(isinstance(n, int) for n in (x, y)) == 1:
            return None
        found.append(y if x == 1 else x)
    return tuple(found)


def _by_batches_at_run_time(node: Node, a: Expr, b: Expr, out_dtype: str) -> Expr:
    """A batched product whose batch shape is computed at run time."""
    rank = max(node.rank(a), node.rank(b))
    one = relay.const([1], "int64")

    def lengths(x: Expr) -> Expr:
        found = relay.shape_of(x, "int64")
        missing = rank - node.rank(x)
        return relay.concatenate([*[one] * missing, found], axis=0) if missing else found

    batch = relay.strided_slice(broadcast_lengths(lengths(a), lengths(b)), [0], [rank - 2])

    def batched(x: Expr) -> Expr:
        matrix = relay.strided_slice(lengths(x), [rank - 2], [rank])
        whole = relay.broadcast_to(x, node.typed(relay.concatenate([batch, matrix], axis=0)))
        flat = relay.concatenate([relay.const([-1], "int64"), matrix], axis=0)
        return node.reshaped(whole, node.typed(flat))

    rows = relay.strided_slice(lengths(a), [rank - 2], [rank - 1])
    columns = relay.strided_slice(lengths(b), [rank - 1], [rank])
    turned = node.graph.use_nt_batch_matmul
    right = relay.transpose(batched(b), axes=(0, 2, 1)) if turned else batched(b)
    found = relay.nn.batch_matmul(batched(a), right, out_dtype=out_dtype, transpose_b=turned)
    wanted = relay.concatenate([batch, rows, columns], axis=0)
    return node.reshaped(found, node.typed(wanted), allowzero=True)


def _newshape(lengths: Shape) -> list[int]:
    """The argument of a reshape: -1 for each unknown size."""
    return [n if isinstance(n, int) else -1 for n in lengths]


def _flat(shape: Shape, batch: Shape) -> list[int]:
    """The shape of batched matrices with the batches flattened into one dimension."""
    return [math.prod(batch) if _is_known(batch) else -1, *_newshape(shape[-2:])]


def _is_known(lengths: Shape) -> bool:
    return all(isinstance(n, int) for n in lengths)


def _can_flatten(shape: Shape, batch: Shape) -> bool:
    """Whether a reshape can flatten the batches into one dimension: it can infer at most one size,
    and an operand that must be broadcast first needs a known shape."""
    if _is_known((*batch, *shape)):
        return True
    if len(batch) == 1:
        return len(shape) == 3
    return shape[:-2] == batch and _flat(shape, batch).count(-1) <= 1


def _batched(x: Expr, shape: Shape, batch: Shape) -> Expr:
    """`x` broadcast to the batch shape, then with the batches flattened into one dimension."""
    if _is_known((*batch, *shape)) and shape[:-2] != batch:
        x = relay.broadcast_to(x, (*batch, *shape[-2:]))
    return x if len(batch) == 1 else reshaped_to(x, _flat(shape, batch))


@converts("Det")
def determinant(node: Node) -> Expr:
    """Laplace expansion along the first row."""
    x = node[0]
    rows, columns = node.length(x, -2), node.length(x, -1)
    if rows != columns or not 1 <= rows <= 4:
        node.fail(f"determinants of 1 to 4 rows and columns are supported, found {rows}, {columns}")

    def element(row: int, column: int) -> Expr:
        part = relay.take(x, relay.const(row, "int64"), axis=-2, mode="clip")
        return relay.take(part, relay.const(column, "int64"), axis=-1, mode="clip")

    def of(row: int, among: list[int]) -> Expr:
        if len(among) == 1:
            return element(row, among[0])
        total: Expr | None = None
        for n, column in enumerate(among):
            term = element(row, column) * of(row + 1, [c for c in among if c != column])
            total = term if total is None else total - term if n % 2 else total + term
        assert total is not None
        return total

    return of(0, list(range(rows)))


@converts("Einsum")
def einsum(node: Node) -> Expr:
    return relay.einsum(node.given, node.attr("equation"))
