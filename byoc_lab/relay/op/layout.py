"""Layout strings such as "NCHW": where each axis is, and how to get from one to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from byoc_lab.relay.op.relations import fail

T = TypeVar("T")


def positions(op: str, attribute: str, layout: str, wanted: str) -> tuple[int, ...]:
    """For each axis of `wanted` ("NCHW"), its position in `layout`.

    Raises TypeInferenceError when `layout` is not a permutation of `wanted` (blocked layouts such
    as "NCHW16c" are not).
    """
    if sorted(layout) != sorted(wanted):
        fail(op, f"attribute {attribute} must be a permutation of {wanted}, found {layout!r}")
    return tuple(layout.index(axis) for axis in wanted)


def pick(values: Sequence[T], order: Sequence[int]) -> tuple[T, ...]:
    """`values` in another order: result[i] = values[order[i]]."""
    return tuple(values[n] for n in order)


def unpick(values: Sequence[T], order: Sequence[int]) -> tuple[T, ...]:
    """The inverse of `pick`: result[order[i]] = values[i]."""
    return tuple(values[order.index(n)] for n in range(len(order)))


def with_layout(R: Any, value: Any, layout: str, wanted: str) -> Any:
    """A Relax expression in another layout; an empty `wanted` means as it is."""
    if wanted in ("", layout):
        return value
    return R.permute_dims(value, [layout.index(axis) for axis in wanted])
