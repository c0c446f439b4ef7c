"""The result of `get_function` of a built library: one function of its graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import InputError
from byoc_lab.relay.ir.expr import Function
from byoc_lab.run.reference import evaluate


@dataclass(frozen=True)
class GraphFunction:
    """One function of a graph; called with arrays for its inputs, then output arrays.

    NumPy computes it, because the whole program is not compiled function by function.
    """

    name: str
    function: Function

    def __call__(self, *arrays: Any) -> None:
        """Raises InputError if the number of arrays, a shape or a dtype does not fit."""
        count = len(self.function.params)
        results = evaluate(self.function, arrays[:count]).outputs
        if len(arrays) != count + len(results):
            raise InputError(
                f"{self.name} takes {count} inputs and {len(results)} arrays for its results, "
                f"found {len(arrays)}"
            )
        for array, result in zip(arrays[count:], results, strict=True):
            array.copyfrom(result)
