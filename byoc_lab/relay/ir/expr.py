"""The nodes of Relay.

A node is immutable; a pass keeps the objects of subtrees that it does not change, so `a is b` shows
whether anything changed. Sharing is identity: a node that is used twice is computed once. `parts`
and `with_parts` let every traversal (`visit.py`) treat all kinds of node alike.

Source: the node kinds and fields of TVM 0.16 (`tvm.relay.expr`, `tvm.relay.function`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, InputError
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.dataflow import Constant, GlobalVar, Tuple, Var, VarId
from byoc_lab.relay.ir.ndarray import NDArray, numpy_dtype, refuse_masked
from byoc_lab.relay.ir.node import (
    Argument,
    Call,
    Expr,
    Op,
    RelayExpr,
    TupleGetItem,
    TupleWrapper,
    describe,
)
from byoc_lab.relay.ir.scopes import Function, If, Let, RefCreate, RefRead, RefWrite
from byoc_lab.relay.ir.span import Span
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.ir.visit import substitute

__all__ = [
    "Argument", "Attrs", "Call", "Constant", "Expr", "Function", "GlobalVar", "If", "Let", "Op",
    "RefCreate", "RefRead", "RefWrite", "RelayExpr", "Span", "Tuple", "TupleGetItem",
    "TupleWrapper", "Var", "VarId", "bind", "const", "describe", "var",
]  # fmt: skip


def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Any] | None = None,
    dtype: str = "float32",
    span: Span | None = None,
) -> Var:
    """A new variable, typed by a type or by shape and dtype; untyped when neither is given."""
    if type_annotation is not None and shape is not None:
        raise InputError("relay.var takes a type annotation or a shape, not both")
    if shape is not None:
        type_annotation = TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), type_annotation)
    elif isinstance(type_annotation, (tuple, list)):
        raise ArgumentError(
            f"relay.var takes the type second, found {type_annotation!r:.80}; write "
            f"relay.var({name_hint!r}, shape={tuple(type_annotation)!r:.80})"
        )
    return Var(name_hint, type_annotation, span)


def const(value: Any, dtype: str | TensorType | None = None, span: Span | None = None) -> Constant:
    """A constant. Without `dtype`, float64 becomes float32 and int64 int32, as in TVM; an NDArray
    (`tvm.nd.array`) is not converted. `dtype` may also be a tensor type.

    Raises ArgumentError for values that are not numbers; InputError for an unknown dtype, numbers
    that the dtype cannot represent, and masked arrays.
    """
    if isinstance(value, NDArray):
        return Constant(value, span)
    refuse_masked("relay.const", value)
    dtype = dtype.dtype if isinstance(dtype, TensorType) else dtype
    try:
        data = np.array(value, numpy_dtype(dtype) if isinstance(dtype, str) else dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"relay.const: {value!r:.80} cannot become {dtype or 'an array'}: {error}"
        ) from error
    if data.dtype.kind in "OSU":
        raise ArgumentError(f"relay.const takes numbers or arrays of them, found {value!r}")
    if dtype is None:
        narrow = {"int64": "int32", "float64": "float32"}
        data = data.astype(narrow.get(data.dtype.name, data.dtype))
    return Constant(data, span)


def bind(expr: Expr, binds: Mapping[Var, Expr]) -> Expr:
    """`expr` with variables replaced; replaced parameters of a Function are dropped from it.

    Raises ArgumentError for keys that are not variables.
    """
    for key in binds:
        if not isinstance(key, Var):
            raise ArgumentError(
                f"bind replaces variables, found {key!r}; relay.build_module.bind_params_by_name "
                f"takes names"
            )
    if isinstance(expr, Function):
        body = substitute(expr.body, binds)
        kept = [p for p in expr.params if p not in binds]
        return expr.replace(params=kept, body=body)
    return substitute(expr, binds)
