"""Functions for translations to Relax. TVM is imported only inside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.types import TensorType, TupleType, Type

NARROW_FLOATS = ("float16", "bfloat16")
FLOATS = (*NARROW_FLOATS, "float32", "float64")


def fields_of(expr: Any) -> list[Any]:
    """The fields of a Relax tuple, as expressions."""
    from tvm import relax

    if isinstance(expr, relax.Tuple):
        return list(expr.fields)
    return [relax.TupleGetItem(expr, n) for n in range(len(expr.ty.fields))]


def rank_of(expr: Any) -> int:
    """The number of dimensions of a normalised (typed) Relax expression."""
    return int(expr.ty.ndim)


def shape_of(expr: Any) -> list[int]:
    """The shape of a Relax expression whose dimensions are all constants."""
    return [int(d) for d in expr.ty.shape]


def dtype_of(expr: Any) -> str:
    """The dtype of a Relax expression."""
    return str(expr.ty.dtype)


def is_empty(*exprs: Any) -> bool:
    """Whether one of these Relax expressions has no elements."""
    return any(0 in shape_of(expr) for expr in exprs)


def zeros_if_empty(R: Any, relation: Callable[..., Any], attrs: Any, *operands: Any) -> Any:
    """Zeros of the result's type (from the type relation) if one of the operands has no elements;
    otherwise None. TVM does not initialize a sum of no products."""
    if not is_empty(*operands):
        return None
    types = [TensorType(shape_of(e), dtype_of(e)) for e in operands]
    return _zeros(R, relation(attrs, *types)[-1])


def _zeros(R: Any, ty: Type) -> Any:
    if isinstance(ty, TupleType):
        from tvm import relax

        return relax.Tuple([typed(_zeros(R, field)) for field in ty.fields])
    assert isinstance(ty, TensorType)
    return R.zeros(ty.concrete_shape, ty.dtype)


def scalar(value: float, dtype: str) -> Any:
    """A Relax constant of rank 0."""
    from tvm import relax

    return relax.const(value, dtype)


def constant_of(array: np.ndarray) -> Any:
    """A Relax constant of an array, in its dtype (`relax.const` turns int64 into int32)."""
    from tvm import relax

    return relax.const(array, array.dtype.name)


def by_topi(path: str, *args: Any, **options: Any) -> Any:
    """A call of a function of `tvm.topi` ("nn.dilate", ...), for operators that Relax lacks.

    Only inside a translation, while a Relax function is being built.
    """
    from functools import reduce

    from tvm import relax, topi

    block = relax.BlockBuilder.current()
    return block.call_te(reduce(getattr, path.split("."), topi), *args, **options)


def round_half_away(R: Any, x: Any) -> Any:
    """The nearest integers, halves away from zero; Relax's own `round` rounds halves to even."""
    kind = dtype_of(x)
    if "float" not in kind:
        return x
    whole = R.trunc(x)
    is_far = R.greater_equal(R.abs(R.subtract(x, whole)), scalar(0.5, kind))
    return R.where(is_far, R.add(whole, R.sign(x)), whole)


def logical(R: Any, name: str, *operands: Any) -> Any:
    """A logical operator of Relax, which TVM compiles for bool only; for numbers the result is 1 or
    0 in their dtype. nan is true."""
    kind = dtype_of(operands[0])
    if kind == "bool":
        return getattr(R, name)(*operands)
    zero = scalar(0, kind)
    return R.astype(getattr(R, name)(*(R.logical_not(R.equal(x, zero)) for x in operands)), kind)


def in_wide_floats(R: Any, compute: Callable[..., Any], *values: Any) -> Any:
    """`compute(*values)`: 16-bit floats are computed in float32, then the result is cast back."""
    kind = dtype_of(values[0])
    if kind not in NARROW_FLOATS:
        return compute(*values)
    return R.astype(compute(*(typed(R.astype(v, "float32")) for v in values)), kind)


def with_wide_floats(translate: Callable[..., Any]) -> Callable[..., Any]:
    """A translation that casts 16-bit floats to float32, for operators whose code computes float32
    although Relax declares the dtype of the operands. `in_dtype_of` casts the results back."""

    def wide(R: Any, attrs: Any, *operands: Any) -> Any:
        narrow = [dtype_of(x) in NARROW_FLOATS for x in operands]
        pairs = zip(operands, narrow, strict=True)
        return translate(R, attrs, *(typed(R.astype(x, "float32")) if n else x for x, n in pairs))

    return wide


def in_dtype_of(R: Any, value: Any, ty: Type | None) -> Any:
    """A typed Relax expression, cast to the dtypes of its Relay type if TVM computes other dtypes.

    Only while a Relax function is being built.
    """
    if isinstance(ty, TensorType):
        return value if dtype_of(value) == ty.dtype else typed(R.astype(value, ty.dtype))
    assert isinstance(ty, TupleType)
    wanted: list[Any] = list(ty.fields)
    if [str(f.dtype) for f in value.ty.fields] == [f.dtype for f in wanted]:
        return value
    from tvm import relax

    fields = map(typed, fields_of(relax.BlockBuilder.current().emit(value)))
    return relax.Tuple([in_dtype_of(R, f, t) for f, t in zip(fields, wanted, strict=True)])


def need_dtype(op: str, x: Any, kinds: Sequence[str] = FLOATS) -> None:
    """Raises BuildError if the compiled code of `op` does not support the dtype of x."""
    if dtype_of(x) not in kinds:
        raise BuildError(
            f"{op}: TVM compiles it for {', '.join(kinds)}, found {dtype_of(x)}. Cast its "
            f"operands; byoc_lab.evaluate(mod, inputs) runs the network without TVM"
        )


def mean_of(R: Any, x: Any, axes: Sequence[int], keepdims: bool) -> Any:
    """R.mean, with 16-bit floats computed in float32 as in TVM 0.16.

    For integers the result has their dtype; R.mean declares that dtype, but its compiled code
    returns int64.
    """
    kind = dtype_of(x)
    if "float" in kind:
        return in_wide_floats(R, lambda x: R.mean(x, axis=list(axes), keepdims=keepdims), x)
    count = prod(shape_of(x)[n] for n in axes)

    def average(x: Any) -> Any:
        total = R.sum(x, axis=list(axes), keepdims=keepdims)
        return R.divide(total, scalar(count, dtype_of(x)))

    return in_wide_integers(R, x, average)


def in_wide_integers(R: Any, x: Any, average: Callable[[Any], Any]) -> Any:
    """`average` of integers, computed in at least 32 bits, then cast to their dtype."""
    kind = dtype_of(x)
    wide = kind if kind.endswith(("32", "64")) else "int32"
    result = typed(average(typed(R.astype(x, wide)) if wide != kind else x))
    return result if dtype_of(result) == kind else R.astype(result, kind)


def typed(expr: Any) -> Any:
    """`expr` with its type inferred, which `rank_of`, `shape_of` and `by_topi` need."""
    from tvm import relax

    return relax.BlockBuilder.current().normalize(expr)


def _held(expr: Any) -> Any:
    held = getattr(expr, "value", None)
    return held if held is not None else getattr(expr, "data", None)


NOT_CONSTANT = (
    "known only when the network runs. byoc_lab.evaluate(mod, inputs) runs the network without "
    "TVM; to build it, give the inputs that decide it, if they never change, when importing "
    "(freeze=, or --freeze on the command line), or cut the network in front of this operator"
)


def is_constant(expr: Any) -> bool:
    """Whether a Relax expression is a constant that `constant_array` can return."""
    return hasattr(_held(expr), "numpy")


def constant_array(expr: Any, op: str, name: str) -> Any:
    """The NumPy array that a Relax constant holds.

    Raises BuildError for anything else: Relax needs this argument of `op` at compile time.
    """
    if not is_constant(expr):
        raise BuildError(
            f"{op}: TVM compiles it with Relax, which requires a constant {name}, but here it is "
            f"{NOT_CONSTANT}"
        )
    return _held(expr).numpy()


def constant_value(expr: Any, op: str, name: str) -> float:
    """The number that a Relax constant of rank 0 holds. Raises BuildError for anything else."""
    return float(constant_array(expr, op, name))
