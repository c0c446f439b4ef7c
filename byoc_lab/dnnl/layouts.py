"""Orders of axes: where each axis is, and how to get from one order to another.

An order is a tuple `axes` as in numpy.transpose: axis n of the result is axis axes[n] of the
operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
Axes = tuple[int, ...]

DATA = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
WEIGHT = {1: "OIW", 2: "OIHW", 3: "OIDHW"}


def is_order(layout: str, wanted: str) -> bool:
    """Whether `layout` has the axes of `wanted`, each once; blocked layouts have not."""
    return sorted(layout) == sorted(wanted)


def to_layout(layout: str, wanted: str) -> Axes:
    """The order that turns a tensor laid out as `layout` into one laid out as `wanted`."""
    return tuple(layout.index(axis) for axis in wanted)


def ordered(values: Sequence[T], axes: Axes) -> list[T]:
    """A shape after its axes were put in order."""
    return [values[n] for n in axes]


def inverse(axes: Axes) -> Axes:
    """The order that undoes another one."""
    return tuple(axes.index(n) for n in range(len(axes)))


def then(first: Axes, second: Axes) -> Axes:
    """One order that does what two do after one another."""
    return tuple(first[n] for n in second)


def is_identity(axes: Axes) -> bool:
    return axes == tuple(range(len(axes)))
