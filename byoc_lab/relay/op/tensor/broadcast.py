"""Binary operators that broadcast as in NumPy, aligned from the last axis.

Both arguments have one dtype; comparisons return bool. A dimension `?` with d > 1 results in d,
with 1 in `?`. Source: `BroadcastRel` and `BroadcastCompRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.attrs import REQUIRED
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import broadcast_layouts
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import relay_call, same
from byoc_lab.relay.op.framework.normalizers import numbers_to_lists
from byoc_lab.relay.op.framework.precision import FOLLOW, NEVER
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op, same_result
from byoc_lab.relay.op.framework.relations import broadcast, check_broadcasts_to, fail
from byoc_lab.relay.op.framework.relax_types import (
    constant_array,
    dtype_of,
    is_constant,
    logical,
    scalar,
    shape_of,
    typed,
)
from byoc_lab.relay.op.tensor.create import INIT_ATTRS


def _broadcast_type(op: str, dtype: str | None, attrs: Any, a: TensorType, b: TensorType) -> Type:
    """The result of `op` has `dtype`; if that is None, the dtype of the arguments."""
    if a.dtype != b.dtype:
        message = f"lhs and rhs must have one dtype, found {a} and {b}; cast one of them"
        fail(op, message, kind="broadcast dtypes", types=(a, b))
    return TensorType(broadcast(op, a, b), dtype or a.dtype)


def _binary(
    name: str,
    function: Callable[..., Any],
    arithmetic: Arithmetic,
    doc: str,
    relax: str = "",
    lower: Callable[..., Any] | None = None,
    **facts: Any,
) -> None:
    """Define a binary operator. relax: the Relax operator, if not `name`. lower: creates the Relax
    expression, if that is not a single call."""
    dtype = "bool" if arithmetic is Arithmetic.COMPARISON else None

    def reference(attrs: Any, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        return np.asarray(function(lhs, rhs), dtype)

    define_op(
        name,
        "lhs rhs",
        result_type=partial(_broadcast_type, name, dtype),
        reference=reference if dtype else same_result(function),
        relax=lower or (lambda R, attrs, lhs, rhs: getattr(R, relax or name)(lhs, rhs)),
        from_relax=facts.pop("from_relax", {name: same} if relax in ("", name) else {}),
        pattern=OpPattern.BROADCAST,
        layout=broadcast_layouts.broadcast,
        arithmetic=arithmetic,
        doc=doc,
        **facts,
    )


def divide(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """True division for floats; for integers the quotient is rounded towards zero, as in C."""
    if lhs.dtype.kind not in "iub":  # bfloat16 is not a floating-point dtype to NumPy
        return np.divide(lhs, rhs)
    quotient = np.abs(lhs) // np.abs(rhs)
    return np.where((lhs < 0) == (rhs < 0), quotient, -quotient)


def _power(R: Any, attrs: Any, lhs: Any, rhs: Any) -> Any:
    """Power for Relax. Integers, which TVM's operator does not support, are computed by repeated
    squaring, one step for each bit of the exponent. Raises BuildError for a negative constant
    exponent."""
    lhs, rhs = typed(lhs), typed(rhs)
    kind = dtype_of(lhs)
    if "int" not in kind:
        return R.power(lhs, rhs)
    limits = np.iinfo(kind)
    largest = int(limits.max)
    if is_constant(rhs):
        exponents = constant_array(rhs, "power", "rhs")
        if exponents.min(initial=0) < 0:
            raise BuildError("power: rhs must not be negative for integers, found a constant < 0")
        largest = int(exponents.max(initial=0))
    one, result, square = scalar(1, kind), None, lhs
    for bit in range(max(1, largest.bit_length())):
        is_set = R.bitwise_and(R.right_shift(rhs, scalar(bit, kind)), one)
        factor = R.where(R.equal(is_set, one), square, one)
        result = factor if result is None else R.multiply(result, factor)
        square = R.multiply(square, square)
    return result


_binary(
    "add",
    np.add,
    Arithmetic.ADDITION,
    "out = lhs + rhs.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.ARITHMETIC,
)
_binary(
    "subtract",
    np.subtract,
    Arithmetic.ADDITION,
    "out = lhs - rhs.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.ARITHMETIC,
)
_binary(
    "multiply",
    np.multiply,
    Arithmetic.PRODUCT,
    "out = lhs * rhs.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.ARITHMETIC,
)
_binary(
    "divide",
    divide,
    Arithmetic.QUOTIENT,
    "out = lhs / rhs; for integers rounded towards zero.",
    mixed_precision=FOLLOW,
)
_binary(
    "maximum",
    np.maximum,
    Arithmetic.LARGER,
    "out = maximum of lhs and rhs.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.EXTREME,
    qat=True,
)
_binary(
    "minimum",
    np.minimum,
    Arithmetic.LARGER,
    "out = minimum of lhs and rhs.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.EXTREME,
    qat=True,
)
_binary(
    "power",
    np.power,
    Arithmetic.FUNCTION,
    "out = lhs to the power of rhs.",
    mixed_precision=NEVER,
    lower=_power,
)
for _word in ("and", "or", "xor"):
    _binary(
        f"logical_{_word}",
        getattr(np, f"logical_{_word}"),
        Arithmetic.FUNCTION,
        f"out = lhs {_word} rhs.",
        lower=lambda R, attrs, *operands, name=f"logical_{_word}": logical(R, name, *operands),
    )
_binary("less", np.less, Arithmetic.COMPARISON, "out = lhs < rhs.", mixed_precision=FOLLOW)
_binary(
    "less_equal", np.less_equal, Arithmetic.COMPARISON, "out = lhs <= rhs.", mixed_precision=FOLLOW
)
_binary("greater", np.greater, Arithmetic.COMPARISON, "out = lhs > rhs.", mixed_precision=FOLLOW)
_binary(
    "greater_equal",
    np.greater_equal,
    Arithmetic.COMPARISON,
    "out = lhs >= rhs.",
    mixed_precision=FOLLOW,
)
_binary("equal", np.equal, Arithmetic.COMPARISON, "out = lhs == rhs.")


def _not_equal(R: Any, attrs: Any, lhs: Any, rhs: Any) -> Any:
    """`!=` for Relax: nan is unequal to every number. (With TVM's `!=`, compiled code returns false
    for nan.)"""
    lhs, rhs = typed(lhs), typed(rhs)
    if "float" not in dtype_of(lhs):
        return R.not_equal(lhs, rhs)
    return R.logical_not(R.equal(lhs, rhs))


_binary("not_equal", np.not_equal, Arithmetic.COMPARISON, "out = lhs != rhs.", lower=_not_equal)


def floor_mod(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """The remainder of the division rounded down; it has the sign of rhs."""
    return np.mod(lhs, rhs)


_binary("floor_divide", np.floor_divide, Arithmetic.STEPS, "out = lhs / rhs, rounded down.")
_binary(
    "floor_mod",
    floor_mod,
    Arithmetic.STEPS,
    "out = remainder of floor_divide; has the sign of rhs.",
)
for _name in ("mod", "trunc_mod"):
    _binary(
        _name,
        np.fmod,
        Arithmetic.STEPS,
        "out = remainder of trunc_divide; has the sign of lhs.",
        relax="mod",
        in_relax=("mod",) if _name == "trunc_mod" else (),
    )
_binary("bitwise_and", np.bitwise_and, Arithmetic.FUNCTION, "out = lhs & rhs, bit by bit.")
_binary("bitwise_or", np.bitwise_or, Arithmetic.FUNCTION, "out = lhs | rhs, bit by bit.")
_binary("bitwise_xor", np.bitwise_xor, Arithmetic.FUNCTION, "out = lhs ^ rhs, bit by bit.")
_binary("left_shift", np.left_shift, Arithmetic.FUNCTION, "out = lhs << rhs.")
_binary("right_shift", np.right_shift, Arithmetic.FUNCTION, "out = lhs >> rhs.")


def trunc_divide(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """The quotient rounded towards zero."""
    return np.trunc(divide(lhs, rhs))


_binary(
    "trunc_divide",
    trunc_divide,
    Arithmetic.STEPS,
    "out = lhs / rhs, rounded towards zero.",
    lower=lambda R, attrs, lhs, rhs: (
        R.trunc(R.divide(lhs, rhs)) if "float" in dtype_of(lhs) else R.divide(lhs, rhs)
    ),
    from_relax={},
)


def where_type(attrs: Any, c: TensorType, a: TensorType, b: TensorType) -> Type:
    """condition, x and y broadcast together; the result has the dtype of x and y."""
    if a.dtype != b.dtype:
        fail("where", f"x and y must have one dtype, found {a} and {b}; cast one of them")
    either = TensorType(broadcast("where", a, b), a.dtype)
    return TensorType(broadcast("where", c, either), a.dtype)


def _where(attrs: Any, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    try:
        return np.where(condition, x, y)
    except ValueError as error:
        raise ValueError(f"Invalid broadcast shapes: {error}") from None  # TVM's message


def _where_relax(R: Any, attrs: Any, condition: Any, x: Any, y: Any) -> Any:
    is_bool = dtype_of(condition) == "bool"
    return R.where(condition if is_bool else R.astype(condition, "bool"), x, y)


define_op(
    "where",
    "condition x y",
    result_type=where_type,
    reference=_where,
    relax=_where_relax,
    pattern=OpPattern.BROADCAST,
    doc="out = x where condition is not 0, y elsewhere; the three broadcast.",
    mixed_precision=FOLLOW,
    arithmetic=Arithmetic.CHOICE,
    from_relax={"where": same},
)


def broadcast_to_type(attrs: Any, x: TensorType) -> Type:
    """data with the shape of the attribute; it must broadcast to that shape."""
    if attrs.shape is None:
        fail("broadcast_to", "attribute shape must be given")
    wide = TensorType(attrs.shape, x.dtype)
    check_broadcasts_to("broadcast_to", x, wide)
    return wide


define_op(
    "broadcast_to",
    "data",
    result_type=broadcast_to_type,
    from_relax={
        "broadcast_to": lambda op, call, x, shape: relay_call(op.name, x, shape=call.result)
    },
    reference=lambda attrs, x: np.broadcast_to(x, attrs.shape).copy(),
    attrs=INIT_ATTRS,
    relax=lambda R, attrs, x: R.broadcast_to(x, attrs.shape),
    pattern=OpPattern.BROADCAST,
    shape_from=(),
    parameters="data shape",
    defaults={"shape": REQUIRED},
    normalize=numbers_to_lists("shape"),
    doc="data broadcast to a given shape.",
    arithmetic=Arithmetic.COPY,
    fake_quantized=FakeQuantized.SAME,
    qat=True,
)


def broadcast_to_like_type(attrs: Any, x: TensorType, wide: TensorType) -> Type:
    """data with the shape of broadcast_type."""
    check_broadcasts_to("broadcast_to_like", x, wide)
    return TensorType(wide.shape, x.dtype)


define_op(
    "broadcast_to_like",
    "data broadcast_type",
    result_type=broadcast_to_like_type,
    reference=lambda attrs, x, like: np.broadcast_to(x, like.shape).copy(),
    in_relax=("broadcast_to",),
    relax=lambda R, attrs, x, like: R.broadcast_to(x, shape_of(like)),
    pattern=OpPattern.BROADCAST,
    doc="data broadcast to the shape of another tensor.",
    mixed_precision=FOLLOW,
    arithmetic=Arithmetic.COPY,
)
