"""Operators on the bits of numbers: reinterpret and multiplication in fixed point.

Source: src/relay/op/tensor/transform.cc and unary.cc of TVM 0.16, topi/math.py.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, boolean, integer, integers
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.arrays import broadcast_along
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op, identity
from byoc_lab.relay.op.framework.relations import Types, axis_of, fail, tensors
from byoc_lab.relay.op.framework.relax_types import by_topi, dtype_of, rank_of
from byoc_lab.relay.op.tensor.elementwise import CAST_ATTRS


def reinterpret_type(attrs: AnyValue, x: TensorType) -> Type:
    """The shape of data, and a dtype of the same width."""
    if np.dtype(x.dtype).itemsize != np.dtype(attrs.dtype).itemsize:
        fail("reinterpret", f"attribute dtype must be as wide as {x}, found {attrs.dtype}")
    return TensorType(x.shape, attrs.dtype)


def reinterpret_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    """Reads the bits as another dtype; if data is wider than that dtype, it is first rounded to its
    width."""
    width = np.dtype(attrs.dtype).itemsize
    if x.dtype.itemsize != width:
        x = x.astype(f"{x.dtype.kind}{width}")
    return np.ascontiguousarray(x).view(attrs.dtype).reshape(x.shape)


define_op(
    "reinterpret",
    "data",
    result_type=reinterpret_type,
    reference=reinterpret_reference,
    attrs=CAST_ATTRS,
    relax=lambda R, attrs, x: by_topi("reinterpret", x, attrs.dtype),
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="The same bits read as another dtype.",
    arithmetic=Arithmetic.COPY,
)

FRACTION_BITS = 31


def fixed_point_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    """Multiplies in fixed point; halves are rounded up."""
    total = FRACTION_BITS - min(attrs.shift, 0)
    wide = (x.astype(np.int64) << max(attrs.shift, 0)) * attrs.multiplier
    return ((wide + (1 << (total - 1))) >> total).astype(np.int32)


def _fixed_point_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    if attrs.multiplier * 2.0**attrs.shift == 2.0**FRACTION_BITS:  # factor 1: TVM shifts by -1
        return x
    return by_topi("fixed_point_multiply", x, attrs.multiplier, attrs.shift)


define_op(
    "fixed_point_multiply",
    "data",
    identity,
    reference=fixed_point_reference,
    attrs=AttrsType(
        "relay.attrs.FixedPointMultiplyAttrs",
        (
            Attr("multiplier", integer, doc="factor with 31 fractional bits"),
            Attr("shift", integer, doc="exponent of a further factor 2 ** shift"),
        ),
    ),
    flops=per_element(4),
    relax=_fixed_point_relax,
    pattern=OpPattern.ELEMWISE,
    layout=layout_rules.elementwise,
    doc="out = data * multiplier * 2 ** (shift - 31) in int32, rounded; halves are rounded up.",
)

PER_AXIS = "fixed_point_multiply_per_axis"


def per_axis_relation(attrs: AnyValue, *types: Type | None) -> Types:
    """int32 data and vectors for the named axis; the result has the type of data."""
    operands = tensors(PER_AXIS, "x m lshift rshift", *types)
    x = operands[0]
    if x is not None:
        for axis in attrs.axes:
            axis_of(PER_AXIS, axis, len(x.shape), "axes")
    return *operands, x


def _vector_along_axis(attrs: AnyValue, rank: int, vector: np.ndarray) -> np.ndarray:
    return broadcast_along(vector.reshape(-1), attrs.axes[0], rank).astype(np.int64)


def per_axis_reference(
    attrs: AnyValue, x: np.ndarray, m: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Multiplies and shifts; halves are rounded up. As in TVM, rshift is applied whatever
    is_rshift_required is."""
    m, left, right = (_vector_along_axis(attrs, x.ndim, v) for v in (m, left, right))
    up = left if attrs.is_lshift_required else 0
    down = FRACTION_BITS + right
    wide = (x.astype(np.int64) << up) * m
    return ((wide + np.left_shift(1, down - 1)) >> down).astype(np.int32)


def _per_axis_relax(
    R: AnyValue, attrs: AnyValue, x: AnyValue, m: AnyValue, left: AnyValue, right: AnyValue
) -> AnyValue:
    from tvm import relax

    rank = rank_of(x)
    shape = [-1 if n == attrs.axes[0] % rank else 1 for n in range(rank)]
    m, left, right = (R.astype(R.reshape(v, shape), "int64") for v in (m, left, right))
    bits, one = relax.const(FRACTION_BITS, "int64"), relax.const(1, "int64")
    down = R.add(right, bits)
    wide = R.astype(x, "int64")
    wide = R.multiply(R.left_shift(wide, left) if attrs.is_lshift_required else wide, m)
    rounded = R.add(wide, R.left_shift(one, R.subtract(down, one)))
    return R.astype(R.right_shift(rounded, down), dtype_of(x))


define_op(
    PER_AXIS,
    "x m lshift rshift",
    per_axis_relation,
    reference=per_axis_reference,
    attrs=AttrsType(
        "relay.attrs.FixedPointMultiplyPerAxisAttrs",
        (
            Attr("is_lshift_required", boolean, False, "whether lshift is applied"),
            Attr(
                "is_rshift_required", boolean, False, "ignored, as in TVM: rshift is always applied"
            ),
            Attr(
                "axes",
                integers,
                doc="the axis of the vectors m, lshift and rshift, as a list of one",
            ),
        ),
    ),
    flops=per_element(5),
    relax=_per_axis_relax,
    pattern=OpPattern.BROADCAST,
    doc="out = x * m * 2 ** (lshift - rshift - 31) in int32, per channel.",
)
