"""Permutations of axes, and layout strings such as "NCHW" that name them.

A permutation is a tuple `axes` as in numpy.transpose: axis n of the result is axis axes[n] of the
operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from byoc_lab.relay.op.framework.relations import fail

T = TypeVar("T")
Axes = tuple[int, ...]


def is_permutation(layout: str, wanted: str) -> bool:
    """Whether `layout` has the axes of `wanted`, each once; a blocked layout ("NCHW16c") is not."""
    return sorted(layout) == sorted(wanted)


def permutation(layout: str, wanted: str) -> Axes:
    """The permutation that turns `layout` into `wanted`: for each axis of `wanted`, its position in
    `layout`. Raises ValueError for an axis that `layout` does not have."""
    return tuple(layout.index(axis) for axis in wanted)


def positions(op: str, attribute: str, layout: str, wanted: str) -> Axes:
    """`permutation` of an operator's attribute.

    Raises TypeInferenceError when `layout` is not a permutation of `wanted`.
    """
    if not is_permutation(layout, wanted):
        fail(op, f"attribute {attribute} must be a permutation of {wanted}, found {layout!r}")
    return permutation(layout, wanted)


def permute(values: Sequence[T], axes: Sequence[int]) -> tuple[T, ...]:
    """`values`, such as a shape or another permutation, permuted: result[n] = values[axes[n]]."""
    return tuple(values[n] for n in axes)


def inverse(axes: Sequence[int]) -> Axes:
    """The permutation that undoes `axes`."""
    return tuple(axes.index(n) for n in range(len(axes)))


def inverse_permute(values: Sequence[T], axes: Sequence[int]) -> tuple[T, ...]:
    """The inverse of `permute`: result[axes[n]] = values[n]."""
    return permute(values, inverse(axes))


def is_identity(axes: Axes) -> bool:
    """Whether a permutation leaves all axes where they are."""
    return axes == tuple(range(len(axes)))


def with_layout(R: Any, value: Any, layout: str, wanted: str) -> Any:
    """A Relax expression in another layout; an empty `wanted` means as it is."""
    if wanted in ("", layout):
        return value
    return R.permute_dims(value, list(permutation(layout, wanted)))
