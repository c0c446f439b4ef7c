"""Matrix products and biases: nn.dense, nn.matmul, nn.batch_matmul, nn.bias_add.

Source: `MatmulRel`, `BatchMatmulRel`, `BiasAddRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, boolean, dtype, integer
from byoc_lab.relay.ir.dims import longest
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, const
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.arrays import broadcast_along
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import RelaxCall, plain, relay_call
from byoc_lab.relay.op.framework.namespace import builds
from byoc_lab.relay.op.framework.precision import ALWAYS, FOLLOW
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, builder, define_op
from byoc_lab.relay.op.framework.relations import (
    NO_DTYPE,
    Types,
    axis_of,
    differ,
    fail,
    need_rank,
    out_dtype,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import rank_of


def dense_relation(attrs: AnyValue, data: Type | None, weight: Type | None) -> Types:
    """data (..., K) and weight (units, K) give (..., units)."""
    op = "nn.dense"
    x, w = tensors(op, "data weight", data, weight)
    if x is None:
        return None, w, None
    if not x.shape:
        fail(op, f"data must have at least one dimension, found {x}")
    depth = x.shape[-1]
    if w is None:
        if attrs.units is None:
            return x, None, None
        w = TensorType((attrs.units, depth), x.dtype)
    need_rank(op, "weight", w, 2)
    if attrs.units is not None and differ(w.shape[0], attrs.units):
        fail(op, f"weight must have units={attrs.units} rows, found {w.shape[0]} in {w}")
    if differ(w.shape[1], depth):
        fail(op, f"weight must have {depth} columns for data {x}, found {w.shape[1]} in {w}")
    units = w.shape[0] if attrs.units is None else attrs.units
    return x, w, TensorType((*x.shape[:-1], units), out_dtype(attrs, x))


def _product(attrs: AnyValue, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b in attribute out_dtype, computed in the wider of out_dtype and the dtype of `a`."""
    result = np.dtype(attrs.out_dtype or a.dtype)
    inner = np.result_type(a.dtype, result)
    return (a.astype(inner, copy=False) @ b.astype(inner, copy=False)).astype(result, copy=False)


def dense_reference(attrs: AnyValue, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return _product(attrs, data, weight.T)


def _product_from_relax(op: Op, call: RelaxCall, a: Expr, b: Expr) -> Expr:
    """A product as in NumPy: vectors get an axis, stacks of matrices broadcast. If the right
    operand is a constant matrix, or a transpose that exchanges rows and columns, the product
    becomes an nn.dense, Relay's form of linear layers."""
    left, right = call.shapes
    assert left is not None and right is not None and call.result is not None
    dtype = plain(call.attrs.out_dtype) or ""
    if len(left) > 1 and len(right) == 2:
        weight = _transposed(b)
        if weight is None:
            return relay_call("nn.matmul", a, b, units=right[1], out_dtype=dtype)
        return relay_call("nn.dense", a, weight, out_dtype=dtype)
    if len(left) == len(right) == 3:
        x, y = _exchanged(a, 3), _exchanged(b, 3)
        return relay_call(
            "nn.batch_matmul",
            a if x is None else x,
            b if y is None else y,
            transpose_a=x is not None,
            transpose_b=y is not None,
            out_dtype=dtype,
        )
    if len(left) == 1:
        a, left = relay_call("expand_dims", a, axis=0), (1, *left)
    if len(right) == 1:
        b, right = relay_call("expand_dims", b, axis=1), (*right, 1)
    stack = np.broadcast_shapes(left[:-2], right[:-2])
    flat = []
    for x, shape in ((a, left), (b, right)):
        if shape[:-2] != stack:
            x = relay_call("broadcast_to", x, shape=(*stack, *shape[-2:]))
        flat.append(relay_call("reshape", x, (prod(stack), *shape[-2:])))
    product = relay_call(
        "nn.batch_matmul", *flat, transpose_a=False, transpose_b=False, out_dtype=dtype
    )
    return relay_call("reshape", product, call.result)


def _transposed(matrix: Expr) -> Expr | None:
    """The transpose of a constant matrix, or of a matrix that is the result of a transpose."""
    if isinstance(matrix, Constant):
        return const(np.ascontiguousarray(matrix.numpy().T), matrix.data.dtype)
    if not (isinstance(matrix, Call) and matrix.is_op("transpose")):
        return None
    exchanged = _exchanged(matrix, 2)
    return relay_call("transpose", matrix, (1, 0)) if exchanged is None else exchanged


def _exchanged(value: Expr, rank: int) -> Expr | None:
    """The operand of a transpose that exchanges the last two axes."""
    if not (isinstance(value, Call) and value.is_op("transpose")):
        return None
    axes = [*range(rank)][::-1] if value.attrs.axes is None else value.attrs.axes
    exchange = [*range(rank - 2), rank - 1, rank - 2]
    return value.args[0] if [axis % rank for axis in axes] == exchange else None


define_op(
    "nn.dense",
    "data weight",
    dense_relation,
    from_relax={"matmul": _product_from_relax},
    arithmetic=Arithmetic.MATRIX_PRODUCT,
    reference=dense_reference,
    attrs=AttrsType(
        "relay.attrs.DenseAttrs",
        (
            Attr(
                "units",
                integer,
                REQUIRED,
                "number of outputs; None: as in the weight",
                may_be_none=True,
            ),
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result; empty: the dtype of the data"),
        ),
    ),
    flops=lambda attrs, args, result: 2 * prod(result.shape) * args[0].shape[-1],
    relax=lambda R, attrs, x, w: R.matmul(x, R.permute_dims(w), out_dtype=attrs.out_dtype or None),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    layout=layout_rules.fixed("NC NC", "NC"),
    doc="out[..., u] = sum over k of data[..., k] * weight[u, k].",
    mixed_precision=ALWAYS,
    fake_quantized=FakeQuantized.DENSE,
    qat=True,
)


def matmul_relation(attrs: AnyValue, a: Type | None, b: Type | None) -> Types:
    """(..., K) and (K, units), each optionally transposed, give (..., units)."""
    op = "nn.matmul"
    x, y = tensors(op, "tensor_a tensor_b", a, b)
    if x is None:
        return None, y, None
    if len(x.shape) < (2 if attrs.transpose_a else 1):
        fail(op, f"tensor_a has too few dimensions: {x}")
    *rows, depth = x.shape
    if attrs.transpose_a:
        *rows, depth = (*x.shape[:-2], x.shape[-1], x.shape[-2])
    if y is None:
        if attrs.units is None:
            return x, None, None
        shape = (attrs.units, depth) if attrs.transpose_b else (depth, attrs.units)
        y = TensorType(shape, x.dtype)
    need_rank(op, "tensor_b", y, 2)
    k, units = y.shape[::-1] if attrs.transpose_b else y.shape
    if attrs.units is not None and differ(units, attrs.units):
        fail(op, f"tensor_b must give units={attrs.units} columns, found {units} in {y}")
    if differ(k, depth):
        fail(op, f"tensor_a has {depth} columns and tensor_b {k} rows to sum over: {x} and {y}")
    units = units if attrs.units is None else attrs.units
    return x, y, TensorType((*rows, units), out_dtype(attrs, x))


def _matmul_reference(attrs: AnyValue, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    x = a.swapaxes(-1, -2) if attrs.transpose_a else a
    return _product(attrs, x, b.T if attrs.transpose_b else b)


def _matmul_relax(R: AnyValue, attrs: AnyValue, a: AnyValue, b: AnyValue) -> AnyValue:
    rank = rank_of(a)
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    x = R.permute_dims(a, swapped) if attrs.transpose_a else a
    y = R.permute_dims(b) if attrs.transpose_b else b
    return R.matmul(x, y, out_dtype=attrs.out_dtype or None)


MATMUL = define_op(
    "nn.matmul",
    "tensor_a tensor_b",
    matmul_relation,
    from_relax={"matmul": _product_from_relax},
    read_around=("transpose_a", "transpose_b"),
    arithmetic=Arithmetic.MATRIX_PRODUCT,
    reference=_matmul_reference,
    attrs=AttrsType(
        "relay.attrs.MatmulAttrs",
        (
            Attr(
                "units",
                integer,
                REQUIRED,
                "number of columns of the result; None: as in tensor_b",
                may_be_none=True,
            ),
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result; empty: the dtype of tensor_a"),
            Attr("transpose_a", boolean, False, "whether tensor_a is transposed: (..., K, M)"),
            Attr("transpose_b", boolean, False, "whether tensor_b is transposed: (units, K)"),
        ),
    ),
    flops=lambda attrs, args, result: 2 * prod(result.shape) * args[1].shape[attrs.transpose_b],
    relax=_matmul_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="The matrix product of tensor_a and tensor_b, each optionally transposed.",
)


@builds("nn.matmul", defaults_of="nn.matmul")
def matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    units: int | None,
    out_dtype: str,
    transpose_a: bool,
    transpose_b: bool,
) -> Call:
    """The product of two matrices; with only tensor_b transposed it is an `nn.dense`, as in TVM."""
    if transpose_b and not transpose_a:
        return builder(Op.get("nn.dense"))(tensor_a, tensor_b, units, out_dtype)
    return builder(MATMUL)(tensor_a, tensor_b, units, out_dtype, transpose_a, transpose_b)


def batch_matmul_type(attrs: AnyValue, x: TensorType, y: TensorType) -> Type:
    """(B, M, K) and (B, K, N), each optionally transposed, give (B, M, N); a B of 1 broadcasts."""
    op = "nn.batch_matmul"
    need_rank(op, "tensor_a", x, 3)
    need_rank(op, "tensor_b", y, 3)
    batch, m, k = x.shape if not attrs.transpose_a else (x.shape[0], x.shape[2], x.shape[1])
    batch2, k2, n = y.shape if not attrs.transpose_b else (y.shape[0], y.shape[2], y.shape[1])
    if differ(batch, batch2) and 1 not in (batch, batch2):
        fail(op, f"the batches of tensor_a and tensor_b must agree or be 1, found {x} and {y}")
    if differ(k, k2):
        fail(op, f"tensor_a has {k} columns and tensor_b {k2} rows to sum over: {x} and {y}")
    # TVM gives `?` for `?` with any size, and 1 for 0 with 1.
    wider = 0 if 0 in (batch, batch2) else longest(batch, batch2)
    return TensorType((wider, m, n), out_dtype(attrs, x))


def batch_matmul_reference(attrs: AnyValue, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    x = a.swapaxes(1, 2) if attrs.transpose_a else a
    return _product(attrs, x, b.swapaxes(1, 2) if attrs.transpose_b else b)


def _batch_matmul_relax(R: AnyValue, attrs: AnyValue, a: AnyValue, b: AnyValue) -> AnyValue:
    x = R.permute_dims(a, [0, 2, 1]) if attrs.transpose_a else a
    y = R.permute_dims(b, [0, 2, 1]) if attrs.transpose_b else b
    return R.matmul(x, y, out_dtype=attrs.out_dtype or None)


define_op(
    "nn.batch_matmul",
    "tensor_a tensor_b",
    result_type=batch_matmul_type,
    from_relax={"matmul": _product_from_relax},
    read_around=("transpose_a", "transpose_b"),
    arithmetic=Arithmetic.MATRIX_PRODUCT,
    reference=batch_matmul_reference,
    attrs=AttrsType(
        "relay.attrs.BatchMatmulAttrs",
        (
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result; empty: the dtype of tensor_a"),
            Attr("transpose_a", boolean, False, "whether tensor_a is transposed: (B, K, M)"),
            Attr("transpose_b", boolean, False, "whether tensor_b is transposed: (B, N, K)"),
        ),
    ),
    defaults={"transpose_b": True},
    flops=lambda attrs, args, result: (
        2 * prod(result.shape) * args[0].shape[1 if attrs.transpose_a else 2]
    ),
    relax=_batch_matmul_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="The matrix product of tensor_a and tensor_b for each element of a batch.",
    mixed_precision=ALWAYS,
    fake_quantized=FakeQuantized.BATCH_MATMUL,
    qat=True,
)


def bias_add_relation(attrs: AnyValue, data: Type | None, bias: Type | None) -> Types:
    """data (d0, ..., dn) and bias (d_axis,) give a result of the type of data."""
    op = "nn.bias_add"
    x, b = tensors(op, "data bias", data, bias)
    if x is None:
        return None, b, None
    axis = axis_of(op, attrs.axis, len(x.shape))
    return x, TensorType((x.shape[axis],), x.dtype), x


define_op(
    "nn.bias_add",
    "data bias",
    bias_add_relation,
    arithmetic=Arithmetic.ADDITION,
    reference=lambda attrs, x, b: x + broadcast_along(b, attrs.axis, x.ndim),
    attrs=AttrsType(
        "relay.attrs.BiasAddAttrs",
        (Attr("axis", integer, 1, "axis that the bias is broadcast along"),),
    ),
    in_relax=("add",),
    relax=lambda R, attrs, x, b: R.add(
        x, R.expand_dims(b, list(range(1, rank_of(x) - attrs.axis % rank_of(x))))
    ),
    pattern=OpPattern.BROADCAST,
    doc="out = data + bias, the bias broadcast along one axis.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.BIAS,
    qat=True,
)
