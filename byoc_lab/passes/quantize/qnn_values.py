"""Common parts of the lowerings of quantized operators: constant and variable scales and zero
points.

As in TVM, a term is omitted only if the zero point is a constant 0 of exactly the expected dtype.

Source: src/relay/transforms/pattern_utils.h and src/relay/qnn/utils.h of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.relay.ir.expr import Constant, Expr, Op
from byoc_lab.relay.ir.types import TensorType, Type

Lowering = Callable[[Any, list[Expr], list[Type]], Expr]
CANONICALIZE = "FTVMQnnCanonicalize"


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Register a function (attributes, arguments, types of the arguments and the result) -> Expr as
    the lowering of the named operators in CanonicalizeOps."""

    def register(function: Lowering) -> Lowering:
        for name in names:
            Op.get(name).set_attr(CANONICALIZE, function)
        return function

    return register


def integer(value: int, dtype: str = "int32") -> Constant:
    return relay.const(value, dtype)


def is_scalar_constant(expr: Expr) -> bool:
    """Whether `expr` is a constant without axes. (Shape (1,) is a vector.)"""
    return isinstance(expr, Constant) and not expr.data.shape


def is_number(expr: Expr, value: int) -> bool:
    """Whether `expr` is an int32 constant of this value, without axes."""
    return same_scalar(expr, integer(value))


def same_scalar(a: Expr, b: Expr) -> bool:
    """Whether both are constants without axes, of one dtype and one value."""
    if not (is_scalar_constant(a) and is_scalar_constant(b)):
        return False
    x, y = a.numpy(), b.numpy()  # type: ignore[attr-defined]
    return x.dtype == y.dtype and x.tobytes() == y.tobytes()


def values(expr: Expr, name: str) -> np.ndarray:
    """The numbers of a constant. Raises PassError that names an expression which is not a
    constant."""
    if not isinstance(expr, Constant):
        raise PassError(
            f"{name} must be a constant, found {relay.describe(expr)}; bind the parameters "
            f"(bind_params_by_name) and run FoldConstant first"
        )
    return expr.numpy()


def tensor_type(ty: Type) -> TensorType:
    assert isinstance(ty, TensorType)  # guaranteed by the operator's type relation
    return ty


def length(ty: Type, axis: int) -> int:
    """The size of an axis. Raises PassError if it is unknown."""
    found = tensor_type(ty).shape[axis]
    if not isinstance(found, int):
        raise PassError(
            f"axis {axis} of {ty} must be known to lower the operator; give the function's "
            f"parameters their shapes"
        )
    return found


def across(vector: Expr, rank: int, axis: int) -> Expr:
    """A vector shaped so that it broadcasts along `axis` of a tensor of `rank` dimensions."""
    trailing = rank - axis - 1
    return relay.expand_dims(vector, axis=1, num_newaxis=trailing) if trailing > 0 else vector


def flat_across(vector: Expr, rank: int, axis: int) -> Expr:
    """As `across`, for a vector or a scalar; `axis` may be negative."""
    return across(relay.reshape(vector, newshape=(-1,)), rank, from_start(axis, rank))


def from_start(axis: int, rank: int) -> int:
    return axis % rank if rank else 0


def saturated(expr: Expr, dtype: str) -> Expr:
    """`expr` clipped to the range of an integer dtype, and cast to it. Raises PassError for other
    dtypes."""
    if "int" not in dtype:
        raise PassError(f"a quantized result must be of an integer dtype, found {dtype}")
    limits = np.iinfo(dtype)
    return relay.cast(relay.clip(expr, float(limits.min), float(limits.max)), dtype)
