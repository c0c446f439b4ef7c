"""Draws calls of kernels: shapes and attributes from hypothesis, elements from a random
generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

FLOATS = ("float32", "bfloat16")
INTEGERS = ("uint8", "int8", "int32")
ALL = (*FLOATS, *INTEGERS)
DTYPES = {name: np.dtype(name) for name in ("float32", *INTEGERS)}
DTYPES["bfloat16"] = np.dtype(ml_dtypes.bfloat16)


@dataclass
class Case:
    """A call of a kernel."""

    args: list[Any]
    attrs: dict[str, Any] = field(default_factory=dict)


class Draw:
    """Draws shapes and attributes from hypothesis, and elements from a generator that hypothesis
    seeds.

    dtype: of the elements. integers: for a product of `dtype` and int8.
    """

    def __init__(self, data: st.DataObject, dtype: str) -> None:
        self.draw = data.draw
        self.dtype = dtype
        self.integers = dtype in INTEGERS
        self.rng = np.random.default_rng(self.int(0, 2**32 - 1))

    def int(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def one_of(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def ints(self, count: int, low: int, high: int) -> list[int]:
        return [self.int(low, high) for _ in range(count)]

    def shape(self, least: int = 0, most: int = 5, size: int = 5) -> list[int]:
        """One axis may be long, because kernels have vectorized loops and loops for the
        remainder."""
        shape = self.ints(self.int(least, most), 1, size)
        if shape and self.flag():
            shape[self.int(0, len(shape) - 1)] = self.one_of(16, 17, 33, 70)
        return shape

    def array(self, *shape: int, positive: bool = False, dtype: str | None = None) -> np.ndarray:
        element = DTYPES[dtype or self.dtype]
        if element.kind in "iu":
            limits = np.iinfo(element)
            return self.rng.integers(limits.min, limits.max, shape, element, endpoint=True)
        values = np.asarray(self.rng.standard_normal(shape) * self.one_of(1, 1, 8))
        return np.asarray(np.abs(values) + 0.25 if positive else values).astype(element)

    def weight(self, *shape: int) -> np.ndarray:
        return self.array(*shape, dtype="int8" if self.integers else None)

    def beside(self, shape: Sequence[int]) -> list[int]:
        """A shape that broadcasts to `shape`."""
        kept = shape[self.int(0, len(shape)) :]
        return [size if self.flag() else 1 for size in kept]


def each_array(function: Callable[[np.ndarray], Any], value: Any) -> Any:
    """Applies `function` to the arrays of an argument (an array, a list of arrays, or anything
    else)."""
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [function(part) for part in value]
    return function(value) if isinstance(value, np.ndarray | np.generic) else value
