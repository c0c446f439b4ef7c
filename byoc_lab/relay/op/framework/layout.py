"""Permutations of axes, and layout strings such as "NCHW".

A permutation is a tuple `axes` as in numpy.transpose: axis n of the result is axis axes[n] of the
operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from byoc_lab.relay.op.framework.relations import fail

T = TypeVar("T")
Axes = tuple[int, ...]


def is_permutation(layout: str, target: str) -> bool:
    """Whether `layout` is a permutation of the axes of `target`; "NCHW16c" is not one of "NCHW"."""
    return sorted(layout) == sorted(target)


def permutation(layout: str, target: str) -> Axes:
    """The permutation from `layout` to `target`: the position in `layout` of each axis of `target`.

    Raises ValueError for an axis that `layout` does not have.
    """
    return tuple(layout.index(axis) for axis in target)


def positions(op: str, attribute: str, layout: str, target: str) -> Axes:
    """`permutation` for a layout that is an attribute of an operator.

    Raises TypeInferenceError when `layout` is not a permutation of `target`.
    """
    if not is_permutation(layout, target):
        fail(op, f"attribute {attribute} must be a permutation of {target}, found {layout!r}")
    return permutation(layout, target)


def permute(values: Sequence[T], axes: Sequence[int]) -> tuple[T, ...]:
    """`values`, such as a shape or another permutation, permuted: result[n] = values[axes[n]]."""
    return tuple(values[n] for n in axes)


def inverse(axes: Sequence[int]) -> Axes:
    """The inverse permutation of `axes`."""
    return tuple(axes.index(n) for n in range(len(axes)))


def inverse_permute(values: Sequence[T], axes: Sequence[int]) -> tuple[T, ...]:
    """The inverse of `permute`: result[axes[n]] = values[n]."""
    return permute(values, inverse(axes))


def is_identity(axes: Axes) -> bool:
    """Whether a permutation leaves all axes where they are."""
    return axes == tuple(range(len(axes)))


def with_layout(R: Any, value: Any, layout: str, target: str) -> Any:
    """A Relax expression permuted from `layout` to `target`; unchanged if `target` is empty."""
    if target in ("", layout):
        return value
    return R.permute_dims(value, list(permutation(layout, target)))
