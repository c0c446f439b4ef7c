"""Affine types are compared structurally."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.relay.analysis.affine_type import TensorAffineType, TupleAffineType


def affine(scale: float, dtype: str = "int8") -> TensorAffineType:
    return TensorAffineType(relay.const(scale), relay.const(0), dtype)


def test_equal_scales_and_zero_points_give_equal_types() -> None:
    assert affine(0.5) == affine(0.5)
    assert hash(affine(0.5)) == hash(affine(0.5))
    assert affine(0.5) != affine(0.25)
    assert affine(0.5) != affine(0.5, "uint8")


def test_tuple_types_are_compared_by_field() -> None:
    assert TupleAffineType([affine(0.5)]) == TupleAffineType([affine(0.5)])
    assert TupleAffineType([affine(0.5)]) != TupleAffineType([affine(0.25)])
