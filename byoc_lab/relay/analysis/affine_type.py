"""Affine types: the real values that the integers of a quantized tensor represent.

x_real = (x - zero_point) * scale, broadcast along `axis` if these are vectors.

Source: python/tvm/ir/affine_type.py of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Expr


class AffineType:
    """The affine type of a tensor or a tuple."""


@dataclass(frozen=True, eq=False)
class TensorAffineType(AffineType):
    """Integers of `dtype`; scale float32 and zero point int32, scalars or vectors.

    Two are equal when their scales and zero points are structurally equal.
    """

    scale: Expr
    zero_point: Expr
    dtype: str
    axis: int = -1

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorAffineType)
            and (self.dtype, self.axis) == (other.dtype, other.axis)
            and structural_equal(self.scale, other.scale)
            and structural_equal(self.zero_point, other.zero_point)
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.axis))


@dataclass(frozen=True)
class TupleAffineType(AffineType):
    """The affine types of the fields of a tuple, in order."""

    types: Sequence[TensorAffineType]

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", tuple(self.types))
