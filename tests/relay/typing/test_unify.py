"""Unification: incomplete types, dimensions, generic functions, and conflicting types."""

from __future__ import annotations

import pytest

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import Any, FuncType, IncompleteType, TensorType, TupleType, TypeVar, symbol
from byoc_lab.relay.typing.unify import Unifier

T = TensorType((2, 3))


def test_incomplete_type_is_bound_to_the_other_type() -> None:
    unifier, hole = Unifier(), IncompleteType()
    unifier.unify(TupleType([hole, T]), TupleType([T, T]))
    assert unifier.resolve(hole) == T
    assert unifier.resolve(TupleType([hole])) == TupleType([T])
    assert unifier.holes(TupleType([hole])) == []


def test_two_incomplete_types_are_bound_together() -> None:
    unifier, one, other = Unifier(), IncompleteType(), IncompleteType()
    unifier.unify(one, other)
    unifier.unify(one, T)
    assert unifier.resolve(other) == T


def test_type_that_contains_itself_is_refused() -> None:
    unifier, hole = Unifier(), IncompleteType()
    with pytest.raises(TypeInferenceError, match="would contain itself"):
        unifier.unify(hole, TupleType([hole]))


def test_unknown_dimension_unifies_with_any_dimension() -> None:
    assert Unifier().unify(TensorType((Any(), 3)), T) is not None


def test_symbolic_dimension_is_bound_to_the_unified_number() -> None:
    unifier, n = Unifier(), symbol("n")
    unifier.unify(TensorType((n, 3)), T)
    assert unifier.resolve(TensorType((n, n))) == TensorType((2, 2))


@pytest.mark.parametrize(
    "other",
    [TensorType((2, 4)), TensorType((2,)), TensorType((2, 3), "int32"), TupleType([T])],
    ids=str,
)
def test_different_types_conflict(other: TensorType) -> None:
    with pytest.raises(TypeInferenceError, match="expected"):
        Unifier().unify(T, other)


def test_type_parameters_are_matched_by_position() -> None:
    a, b = TypeVar("a"), TypeVar("b")
    Unifier().unify(FuncType([a], a, [a]), FuncType([b], b, [b]))
    with pytest.raises(TypeInferenceError):
        Unifier().unify(FuncType([a], a, [a]), FuncType([b], T, [b]))
