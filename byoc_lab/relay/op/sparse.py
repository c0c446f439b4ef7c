"""Sparse tensors, as coordinates or as compressed rows (CSR, BSR).

Source: `SparseToDenseRel`, `SparseFillEmptyRowsRel`, `SparseReshapeRel`, `SparseDenseRel`,
`SparseAddRel`, `SparseTransposeRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.attrs import Attr, AttrsType, boolean, integers
from byoc_lab.relay.dims import Any, Dim
from byoc_lab.relay.expr import Call, Expr, Tuple, TupleWrapper
from byoc_lab.relay.op.namespace import builds, function
from byoc_lab.relay.op.registry import OpPattern, define_op
from byoc_lab.relay.op.relations import Types, differ, dim, fail, need_rank, tensors
from byoc_lab.relay.op.relax_types import (
    by_topi,
    constant_array,
    constant_of,
    dtype_of,
    shape_of,
    typed,
)
from byoc_lab.relay.op.scatter import need_integers
from byoc_lab.relay.op.shape import no_flops
from byoc_lab.relay.types import TensorType, TupleType, Type

# Coordinates -------------------------------------------------------------------------------------

TO_DENSE = "sparse_to_dense"


def to_dense_relation(
    attrs: AnyValue, indices: Type | None, values: Type | None, default: Type | None
) -> Types:
    """indices (n, rank), (n,) or (), values (n,) or (), a scalar: a tensor of output_shape."""
    i, v, d = tensors(
        TO_DENSE, "sparse_indices sparse_values default_value", indices, values, default
    )
    check_coordinates(TO_DENSE, i, v, d, len(attrs.output_shape))
    return i, v, d, None if v is None else TensorType(attrs.output_shape, v.dtype)


def check_coordinates(
    op: str, i: TensorType | None, v: TensorType | None, d: TensorType | None, rank: Dim
) -> None:
    """Raise TypeInferenceError unless the tensors can be a sparse tensor of that rank."""
    need_integers(op, "sparse_indices", i)
    if i is not None and (len(i.shape) > 2 or differ(i.shape[1] if len(i.shape) == 2 else 1, rank)):
        fail(op, f"sparse_indices must be indices of a tensor of {rank} axes, found {i}")
    if v is not None and len(v.shape) > 1:
        fail(op, f"sparse_values must be a vector or a scalar, found {v}")
    if d is not None and d.shape:
        fail(op, f"default_value must be a scalar, found {d}")


def to_dense(
    shape: AnyValue, indices: np.ndarray, values: np.ndarray, default: np.ndarray
) -> np.ndarray:
    """A tensor full of `default`, with the values at their indices."""
    out = np.full(tuple(int(n) for n in shape), default).astype(values.dtype)
    places = indices.reshape(-1, out.ndim).astype(np.int64)
    out[tuple(places.T)] = values.reshape(-1) if values.shape else values
    return out


define_op(
    TO_DENSE,
    "sparse_indices sparse_values default_value",
    to_dense_relation,
    reference=lambda attrs, i, v, d: to_dense(attrs.output_shape, i, v, d),
    attrs=AttrsType(
        "relay.attrs.SparseToDenseAttrs",
        (Attr("output_shape", integers, doc="shape of the result"),),
    ),
    flops=no_flops,
    relax=lambda R, attrs, i, v, d: by_topi(
        "sparse_to_dense", i, list(attrs.output_shape), v, typed(R.astype(d, dtype_of(v)))
    ),
    pattern=OpPattern.OPAQUE,
    parameters="sparse_indices output_shape sparse_values default_value",
    defaults={"default_value": 0},
    constants={"default_value": None},
    doc="A tensor of output_shape: sparse_values at sparse_indices, default_value elsewhere.",
)


FILL = "sparse_fill_empty_rows"


def fill_relation(attrs: AnyValue, *types: Type | None) -> Types:
    """indices (n, rank), values (n,), dense_shape (rank,): int64 (?, rank), (?,) and (?,).

    The default is a scalar or a vector of one.
    """
    names = "sparse_indices sparse_values dense_shape default_value"
    known = tensors(FILL, names, *types)
    i, v, shape, d = known
    if shape is not None:
        need_rank(FILL, "dense_shape", shape, 1)
        check_coordinates(FILL, i, v, None, shape.shape[0])
    if d is not None and (len(d.shape) > 1 or any(differ(n, 1) for n in d.shape)):
        fail(FILL, f"default_value must be a scalar or a vector of one, found {d}")
    if i is None:
        return *known, None
    need_rank(FILL, "sparse_indices", i, 2)
    vector = TensorType((Any(),), "int64")
    return *known, TupleType((TensorType((Any(), i.shape[1]), "int64"), vector, vector))


def fill_reference(
    attrs: AnyValue, i: np.ndarray, v: np.ndarray, shape: np.ndarray, default: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Row by row, the values in their order; the default is the first element of an empty row."""
    rows = int(shape[0])
    empty = np.array([not (i[:, 0] == row).any() for row in range(rows)], bool)
    added = np.zeros((int(empty.sum()), i.shape[1]), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    places = np.concatenate([i.astype(np.int64), added])
    values = np.concatenate([v, np.full(len(added), default.reshape(())).astype(v.dtype)])
    order = np.argsort(places[:, 0], kind="stable")
    return places[order], values[order].astype(np.int64), empty.astype(np.int64)


FILL_ROWS = define_op(
    FILL,
    "sparse_indices sparse_values dense_shape default_value",
    fill_relation,
    reference=fill_reference,
    flops=no_flops,
    lacks={"relax": "the lengths of its results are known only at run time"},
    pattern=OpPattern.OPAQUE,
    results=3,
    doc="A sparse tensor with a value in each row; TVM types all results int64.",
)


@builds(FILL)
def sparse_fill_empty_rows(
    sparse_indices: Expr, sparse_values: Expr, dense_shape: Expr, default_value: Expr
) -> Tuple:
    """(indices, values, which rows were empty), in the dtypes of the arguments and bool."""
    args = [sparse_indices, sparse_values, dense_shape, default_value]
    indices, values, empty = TupleWrapper(Call(FILL_ROWS, args), 3)
    like = function("cast_like")
    parts = like(indices, sparse_indices), like(values, sparse_values)
    return Tuple([*parts, function("cast")(empty, "bool")])


def reshape_relation(
    attrs: AnyValue, indices: Type | None, prev: Type | None, new: Type | None
) -> Types:
    """indices (n, old rank) and two shapes give indices (n, new rank) and the new shape."""
    op = "sparse_reshape"
    i, a, b = tensors(op, "sparse_indices prev_shape new_shape", indices, prev, new)
    for name, ty in (("prev_shape", a), ("new_shape", b)):
        if ty is not None:
            need_rank(op, name, ty, 1)
    if i is None or b is None:
        return i, a, b, None
    need_rank(op, "sparse_indices", i, 2)
    if a is not None and differ(i.shape[1], a.shape[0]):
        fail(op, f"sparse_indices must have {a.shape[0]} columns, as prev_shape says, found {i}")
    places = TensorType((i.shape[0], b.shape[0]), i.dtype)
    return i, a, b, TupleType((places, TensorType(b.shape, b.dtype)))


def reshape_reference(
    attrs: AnyValue, i: np.ndarray, prev: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A -1 in the new shape is the length that remains."""
    shape = whole_shape(prev, new)
    flat = np.ravel_multi_index(tuple(i.T.astype(np.int64)), tuple(prev.tolist()))
    places = np.stack(np.unravel_index(flat, tuple(shape.tolist())), axis=-1)
    return places.astype(i.dtype), shape.astype(new.dtype)


def whole_shape(prev: np.ndarray, new: np.ndarray) -> np.ndarray:
    """`new`, its -1 replaced by the length that remains of `prev`."""
    shape = new.astype(np.int64)
    if (shape == -1).any():
        shape[shape == -1] = int(prod(prev.tolist())) // int(-prod(shape.tolist()))
    return shape


def _reshape_relax(
    R: AnyValue, attrs: AnyValue, i: AnyValue, prev: AnyValue, new: AnyValue
) -> AnyValue:
    from tvm import relax

    names = ("prev_shape", "new_shape")
    pair = zip((prev, new), names, strict=True)
    old, asked = (constant_array(a, "sparse_reshape", n) for a, n in pair)
    shape, kind = whole_shape(old, asked), dtype_of(i)
    strides = [int(prod(old[n + 1 :].tolist())) for n in range(len(old))]
    flat = R.sum(R.multiply(i, constant_of(np.array(strides, kind))), axis=1)
    columns = []
    for n, length in enumerate(shape.tolist()):
        stride = relax.const(int(prod(shape[n + 1 :].tolist())), kind)
        column = R.floor_divide(flat, stride)
        columns.append(R.floor_mod(column, relax.const(length, kind)) if n else column)
    return relax.Tuple([R.stack(columns, axis=1), constant_of(shape.astype(asked.dtype))])


define_op(
    "sparse_reshape",
    "sparse_indices prev_shape new_shape",
    reshape_relation,
    reference=reshape_reference,
    flops=no_flops,
    relax=_reshape_relax,
    pattern=OpPattern.INJECTIVE,
    results=2,
    doc="The indices of a sparse tensor in another shape, and that shape.",
)

# Compressed rows: CSR, or BSR when the data has blocks -------------------------------------------


def _rows(name: str, pointers: TensorType) -> Dim:
    need_rank(name, "indptr", pointers, 1)
    return dim(lambda n: n - 1, pointers.shape[0])


def _check_csr(op: str, data: TensorType, i: TensorType, pointers: TensorType) -> None:
    need_integers(op, "indices", i)
    need_integers(op, "indptr", pointers)
    if len(data.shape) not in (1, 3) or len(i.shape) != 1 or differ(i.shape[0], data.shape[0]):
        fail(op, f"data and indices must be of one length (data may have blocks): {data} and {i}")


def _dense(data: np.ndarray, i: np.ndarray, pointers: np.ndarray, columns: int) -> np.ndarray:
    """The dense matrix of data (n,) or (n, block rows, block columns)."""
    blocks = data.reshape(len(data), *(data.shape[1:] or (1, 1)))
    rows = len(pointers) - 1
    high, wide = blocks.shape[1:]
    out = np.zeros((rows, columns // wide, high, wide), data.dtype)
    for row in range(rows):
        inside = slice(int(pointers[row]), int(pointers[row + 1]))
        np.add.at(out[row], i[inside].astype(np.int64), blocks[inside])
    return out.transpose(0, 2, 1, 3).reshape(rows * high, columns)


SPARSE = "weight_data weight_indices weight_indptr"
TENSORS = "sparse_data sparse_indices sparse_indptr"


def dense_relation(attrs: AnyValue, *types: Type | None) -> Types:
    """dense (m, k) and a sparse (n, k) give (m, n); with sparse_lhs sparse (n, k) @ (m, k).T."""
    op = "nn.sparse_dense"
    known = tensors(op, f"dense_data {SPARSE}", *types)
    x, data, i, pointers = known
    if x is None or data is None or i is None or pointers is None:
        return *known, None
    need_rank(op, "dense_data", x, 2)
    _check_csr(op, data, i, pointers)
    high = data.shape[1] if len(data.shape) == 3 else 1
    n = dim(lambda rows, high: rows * high, _rows(op, pointers), high)
    shape = (n, x.shape[0]) if attrs.sparse_lhs else (x.shape[0], n)
    return *known, TensorType(shape, x.dtype)


def dense_reference(
    attrs: AnyValue, x: np.ndarray, data: np.ndarray, i: np.ndarray, pointers: np.ndarray
) -> np.ndarray:
    matrix = _dense(data, i, pointers, x.shape[1])
    return matrix @ x.T if attrs.sparse_lhs else x @ matrix.T


def _by_matrix(op: str, arrays: AnyValue, columns: int) -> np.ndarray:
    """The dense matrix of sparse constants; Relax computes with dense ones only."""
    names = ("data", "indices", "indptr")
    data, i, pointers = (constant_array(a, op, n) for a, n in zip(arrays, names, strict=True))
    return _dense(data, i, pointers, columns)


def _dense_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, *sparse: AnyValue) -> AnyValue:
    matrix = constant_of(_by_matrix("nn.sparse_dense", sparse, shape_of(x)[1]))
    if attrs.sparse_lhs:
        return R.matmul(matrix, R.permute_dims(x))
    return R.matmul(x, R.permute_dims(matrix))


MATRIX = "A sparse matrix is one of SciPy, or a tuple (data, indices, indptr)."


def _parts(names: str) -> Callable[[dict[str, AnyValue]], dict[str, AnyValue]]:
    """The normalization that makes the arguments `names` of the three tensors of a matrix."""

    def normalize(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
        matrix = values["sparse_mat"]
        if hasattr(matrix, "indices"):
            matrix = matrix.data, matrix.indices, matrix.indptr
        return {**values, **{name: matrix[n] for n, name in enumerate(names.split())}}

    return normalize


define_op(
    "nn.sparse_dense",
    f"dense_data {SPARSE}",
    dense_relation,
    reference=dense_reference,
    attrs=AttrsType(
        "relay.attrs.SparseDenseAttrs",
        (Attr("sparse_lhs", boolean, False, "whether the sparse matrix is the left operand"),),
    ),
    flops=lambda attrs, args, result: 2 * prod(args[1].shape) * args[0].shape[0],
    relax=_dense_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    parameters="dense_mat=dense_data sparse_mat sparse_lhs",
    normalize=_parts(SPARSE),
    doc="The product of a dense matrix and the transposed sparse_mat, or with sparse_lhs of "
    f"sparse_mat and the transposed dense one. {MATRIX}",
)


def add_relation(attrs: AnyValue, *types: Type | None) -> Types:
    """dense (m, n) and a sparse (m, n) of single elements; typed as the dense one."""
    op = "nn.sparse_add"
    known = tensors(op, f"dense_data {TENSORS}", *types)
    x, data, i, pointers = known
    if x is None or data is None or i is None or pointers is None:
        return *known, x
    need_rank(op, "dense_data", x, 2)
    _check_csr(op, data, i, pointers)
    if len(data.shape) != 1 or differ(_rows(op, pointers), x.shape[0]):
        fail(op, f"the sparse matrix must have the {x.shape[0]} rows of {x}, no blocks: {data}")
    return *known, x


def _add_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, *sparse: AnyValue) -> AnyValue:
    return R.add(x, constant_of(_by_matrix("nn.sparse_add", sparse, shape_of(x)[1])))


define_op(
    "nn.sparse_add",
    f"dense_data {TENSORS}",
    add_relation,
    reference=lambda attrs, x, d, i, p: x + _dense(d, i, p, x.shape[1]),
    flops=lambda attrs, args, result: prod(args[1].shape),
    relax=_add_relax,
    pattern=OpPattern.OPAQUE,
    parameters="dense_mat=dense_data sparse_mat",
    normalize=_parts(TENSORS),
    doc=f"The sum of a dense matrix and a sparse one. {MATRIX}",
)


def transpose_relation(attrs: AnyValue, *types: Type | None) -> Types:
    """A square sparse matrix: the result has the types of the arguments."""
    op = "nn.sparse_transpose"
    data, i, pointers = tensors(op, TENSORS, *types)
    if data is None or i is None or pointers is None:
        return data, i, pointers, None
    _check_csr(op, data, i, pointers)
    return data, i, pointers, TupleType((data, i, pointers))


def transpose_reference(
    attrs: AnyValue, data: np.ndarray, i: np.ndarray, pointers: np.ndarray
) -> tuple[np.ndarray, ...]:
    rows = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    order = np.argsort(i, kind="stable")
    counts = np.bincount(i.astype(np.int64), minlength=len(pointers) - 1)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(pointers.dtype)
    return data[order], rows[order].astype(i.dtype), starts


def _transpose_relax(R: AnyValue, attrs: AnyValue, *sparse: AnyValue) -> AnyValue:
    from tvm import relax

    names = ("data", "indices", "indptr")
    arrays = [
        constant_array(a, "nn.sparse_transpose", n) for a, n in zip(sparse, names, strict=True)
    ]
    return relax.Tuple([constant_of(a) for a in transpose_reference(attrs, *arrays)])


define_op(
    "nn.sparse_transpose",
    TENSORS,
    transpose_relation,
    reference=transpose_reference,
    attrs=AttrsType("relay.attrs.SparseTransposeAttrs", ()),
    flops=no_flops,
    relax=_transpose_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    results=3,
    parameters="x=sparse_mat",
    normalize=_parts(TENSORS),
    doc=f"A square sparse matrix with rows and columns swapped. {MATRIX}",
)
