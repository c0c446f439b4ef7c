"""Evaluation of one operator on NumPy arrays, for constant folding and the reference executor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab.errors import EvaluationError, TypeInferenceError
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.ir.ndarray import numpy_dtype
from byoc_lab.relay.ir.types import TensorType, TupleType, Type


def evaluate_op(op: Op, attrs: Attrs | None, args: Sequence[Any]) -> Any:
    """The value of `op` with `attrs` on `args` (arrays, or tuples of them): an array or a tuple.

    An operator that is an identity on any type returns its argument, which may be a function.

    Computes in the dtype of the arrays. Domain errors give nan or inf, as in compiled code. If the
    reference fails on arrays without elements, and by the type relation the result has no elements
    either, the value is an empty array of that type. Raises EvaluationError if the operator has no
    reference, or does not support these values.
    """
    definition = op.definition
    if definition.reference is None:
        raise EvaluationError(f"{op.name} has no NumPy reference: {definition.why_no('reference')}")
    attrs = definition.attributes(attrs)
    try:
        with np.errstate(all="ignore"):
            value = definition.reference(attrs, *args)
    except (
        ValueError, TypeError, AttributeError, LookupError, ArithmeticError, MemoryError,
    ) as error:  # fmt: skip
        value = _without_elements(op, attrs, args)
        if value is not None:
            return value
        shown = ", ".join(map(_describe, args))
        raise EvaluationError(f"{op.name} cannot be computed on ({shown}): {error}") from error
    # Annotations return their argument, which may be a function or a data value.
    is_argument = any(value is argument for argument in args)
    return value if is_argument or isinstance(value, tuple) else np.asarray(value)


def _without_elements(op: Op, attrs: Attrs | None, args: Sequence[Any]) -> Any:
    """The value of a call if its result has no elements (its arguments may have some); else
    None."""
    types = list(map(_type_of, args))
    if not any(has_no_elements(ty) for ty in types if ty is not None):
        return None
    try:
        result = op.definition.relation(attrs, *types)[-1]
    except TypeInferenceError:
        return None
    return filled(result, 0) if result is not None and has_no_elements(result) else None


def has_no_elements(ty: Type) -> bool:
    """Whether a type has tensors, all of known shape and without elements."""
    fields = ty.fields if isinstance(ty, TupleType) else ()
    if fields:
        return all(map(has_no_elements, fields))
    return isinstance(ty, TensorType) and ty.is_static and 0 in ty.shape


def filled(ty: Type, number: int) -> Any:
    """A value whose elements all are `number`, for a tensor type of known shape or a tuple of such
    types."""
    if isinstance(ty, TupleType):
        return tuple(filled(field, number) for field in ty.fields)
    assert isinstance(ty, TensorType)
    return np.full(ty.concrete_shape, number, numpy_dtype(ty.dtype))


def _type_of(value: Any) -> Type | None:
    if isinstance(value, tuple):
        fields = list(map(_type_of, value))
        return None if None in fields else TupleType([f for f in fields if f is not None])
    if isinstance(value, np.ndarray):
        return TensorType(value.shape, value.dtype.name)
    return None


def _describe(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_describe, value))})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    return type(value).__name__
