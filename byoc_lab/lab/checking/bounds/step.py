"""`Step`: one operator call, evaluated in float64, which the error rules receive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod, sqrt
from typing import Any

import numpy as np

from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.evaluate import evaluate_op

Array = np.ndarray

# Half the distance from 1 to the next number of a dtype.
UNIT_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}


# the smallest magnitude, relative to the largest element, whose products float32 can hold
LEAST = 1e-15


@dataclass(frozen=True)
class Sum:
    """A result that a kernel computes by repeated additions, each of which rounds.

    roundings: the number of roundings per element. peak: the largest partial sum of each element.
    See `products.py`.
    """

    roundings: int
    peak: Array

    @property
    def deviation(self) -> Array:
        """The standard deviation of the sum's error, in units of u / sqrt(3)."""
        return np.asarray(sqrt(self.roundings) * self.peak)

    def begun_with(self, added: Array) -> Array:
        """The additional deviation if the sum starts from `added`."""
        size = np.abs(added)
        return np.asarray(np.sqrt(self.roundings * size * (2 * self.peak + size)))


@dataclass(frozen=True)
class Step:
    """One call of an operator, evaluated in float64; error rules receive it.

    sums: for each argument, the `Sum` that computes it, or None (see `products.py`). dtype: the
    dtype of the (first) result in the module.
    """

    op: Op
    attrs: Any
    args: Sequence[Any]
    value: Any
    sums: Sequence[Sum | None] = ()
    dtype: str = "float32"

    @cached_property
    def arithmetic(self) -> Arithmetic:
        """The arithmetic class of the operator, which selects its error rules."""
        kind: Arithmetic = self.op.definition.arithmetic_of(self.attrs)
        return kind

    @property
    def reduced(self) -> int:
        """The number of elements of the first argument per element of the result, rounded up; for a
        pooling, the size of its window."""
        window = self.attrs.get("pool_size") if self.attrs is not None else None
        return prod(window) if window else ceil(self.args[0].size / max(1, self.value.size))

    @cached_property
    def squares(self) -> Array:
        """The sums of the squares of the products of the first two arguments."""
        x, w = (np.square(np.asarray(a, np.float64)) for a in self.args[:2])
        return self.positive(x, w)

    def positive(self, x: Array, w: Array) -> Array:
        """The result for the absolute values of the arguments. It is computed in float32 if its
        range suffices: sums of products do not need more digits here."""
        scales = [float(np.max(a, initial=0)) or 1.0 for a in (x, w)]
        narrow = []
        for a, scale in zip((x, w), scales, strict=True):
            least = float(np.min(a, initial=scale, where=a > 0))
            if not np.isfinite(scale) or least < LEAST * scale:
                return np.asarray(self.again(x, w))
            narrow.append((a / scale).astype(np.float32))
        attrs = self.attrs.replace(out_dtype="") if self.attrs.get("out_dtype") else self.attrs
        found = evaluate_op(self.op, attrs, narrow)
        return np.asarray(found, np.float64) * (scales[0] * scales[1])

    def again(self, *args: Any) -> Any:
        """The result of the operator for different arguments."""
        return evaluate_op(self.op, self.attrs, args)

    def of(self, data: Array) -> Any:
        """The result of the operator for a different first argument."""
        return self.again(data, *self.args[1:])


def rounding_deviation(dtype: str) -> float:
    """The standard deviation of one rounding, relative to its result."""
    return UNIT_ROUNDOFF.get(dtype, 0.0) / sqrt(3)


def hypot(a: Any, b: Any) -> Array:
    """sqrt(a ** 2 + b ** 2). Faster than NumPy's hypot, which is only needed if squares overflow:
    squares of float32 numbers never overflow float64, and for larger numbers an infinite result is
    fine here."""
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(a * a + b * b))


def largest_difference(a: Array, b: Array) -> float:
    """The largest finite difference between elements of two arrays."""
    with np.errstate(all="ignore"):
        off = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return float(np.max(off[np.isfinite(off)], initial=0))


def mapped(function: Callable[..., Any], *values: Any) -> Any:
    """Applies `function` to the leaves of nested tuples of the same structure, and returns that
    structure."""
    if isinstance(values[0], tuple):
        return tuple(mapped(function, *each) for each in zip(*values, strict=True))
    return function(*values)


def flat(value: Any) -> tuple[Any, ...]:
    """The leaves of a nested tuple, in order."""
    if not isinstance(value, tuple):
        return (value,)
    if tuple not in map(type, value):
        return value
    found: list[Any] = []
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            todo += reversed(item)
        else:
            found.append(item)
    return tuple(found)
