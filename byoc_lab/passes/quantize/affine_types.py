"""Affine types with their scales and zero points, for the rules of FakeQuantizationToInteger.

An affine type defines the real numbers that the integers of a tensor represent: scale * (integer -
zero point).
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.fold.fold_constant import folded
from byoc_lab.relay.analysis.affine_type import AffineType, TensorAffineType
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Call, Constant, Expr, describe
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.qnn.requantize_config import TOEVEN, TONEAREST

FLOATS = ("float16", "bfloat16", "float32", "float64")


class AffineTypes(dict[Expr, AffineType]):
    """The affine types of expressions: the real numbers that their integers represent.

    float_types: the type of an expression before it was quantized. root: the quantize at the end of
    the region. rounding: the rounding mode for changes of scale; TOEVEN if `root` has it, else
    "None".
    """

    def __init__(self, root: Expr | None = None):
        super().__init__()
        self.root = root
        self.float_types: dict[Expr, Type] = {}
        even = isinstance(root, Call) and root.attrs is not None and root.attrs.rounding == TOEVEN
        self.rounding = TOEVEN if even else "None"

    def of_tensor(self, expr: Expr) -> TensorAffineType:
        """The type of a quantized tensor. Raises PassError for any other expression."""
        found = self.get(expr)
        if not isinstance(found, TensorAffineType):
            raise PassError(f"{describe(expr)} is not a quantized tensor")
        return found

    def rank(self, expr: Expr) -> int:
        ty = self.float_types.get(expr) or expr.checked_type
        assert isinstance(ty, TensorType)
        return len(ty.shape)


def numbers_of(expr: Expr) -> np.ndarray | None:
    """The values of an expression that folds to a constant; None for any other."""
    constant = folded(expr)
    return constant.numpy() if isinstance(constant, Constant) else None


def _close(a: Expr, b: Expr) -> bool:
    left, right = numbers_of(a), numbers_of(b)
    if left is None or right is None:
        return structural_equal(folded(a), folded(b))
    return np.allclose(left, right)


def same_quantization(a: TensorAffineType, b: TensorAffineType) -> bool:
    """Whether equal integers represent equal numbers, up to rounding."""
    same = _close(a.scale, b.scale) and _close(a.zero_point, b.zero_point)
    return same and a.dtype == b.dtype


def product_type(a: TensorAffineType, b: TensorAffineType, axis: int) -> TensorAffineType:
    """The type of a product that is accumulated in int32."""
    scale = folded(relay.multiply(a.scale, b.scale))
    zero = folded(relay.cast(relay.zeros_like(scale), "int32"))
    return TensorAffineType(scale, zero, "int32", axis)


def length_of(vector: Expr) -> int:
    """The number of scales or zero points in a vector."""
    numbers = numbers_of(vector)
    if numbers is not None:
        return numbers.size
    ty = vector.checked_type
    assert isinstance(ty, TensorType)
    return int(np.prod(ty.concrete_shape))


def across_channels(vector: Expr, length: int, t: TensorAffineType, rank: int) -> Expr:
    """A vector with one number for each of `length` channels, shaped to broadcast along the axis of
    `t`."""
    shape = [1] * rank
    shape[t.axis] = -1
    return relay.reshape(relay.broadcast_to(vector, (length,)), shape)


def requantized(
    x: Expr, have: TensorAffineType, want: TensorAffineType, rounding: str, axis: int | None = None
) -> Expr:
    return relay.qnn.op.requantize(
        x,
        have.scale,
        have.zero_point,
        want.scale,
        want.zero_point,
        axis=have.axis if axis is None else axis,
        rounding=rounding,
        out_dtype=want.dtype,
    )


def quantized_constant(x: Expr, t: TensorAffineType, rounding: str, **options: AnyValue) -> Expr:
    """A floating-point constant, quantized. Raises PassError for anything else."""
    if not isinstance(x, Constant) or x.data.dtype not in FLOATS:
        raise PassError(f"{describe(x)} is neither quantized nor a floating-point constant")
    return quantized(x, t, rounding, **options)


def quantized(x: Expr, t: TensorAffineType, rounding: str, **options: AnyValue) -> Expr:
    """rounding: TOEVEN, or "None" for TVM's."""
    how = TOEVEN if rounding == TOEVEN else TONEAREST
    return relay.qnn.op.quantize(x, t.scale, t.zero_point, rounding=how, **options)
