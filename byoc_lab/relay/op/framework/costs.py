"""Costs that several families share: the `flops` of an OpDef."""

from __future__ import annotations

from collections.abc import Callable
from math import log2, prod
from typing import Any

Flops = Callable[[Any, Any, Any], int]


def no_flops(attrs: Any, args: Any, result: Any) -> int:
    """The cost of moving elements."""
    return 0


def per_element(count: int) -> Flops:
    """`count` operations for each element of the result."""

    def flops(attrs: Any, args: Any, result: Any) -> int:
        return count * prod(result.concrete_shape)

    return flops


def per_input_element(count: int, argument: int = 0) -> Flops:
    """`count` operations for each element of one argument, such as the data of a reduction."""

    def flops(attrs: Any, args: Any, result: Any) -> int:
        return count * prod(args[argument].concrete_shape)

    return flops


def comparisons(count: int, length: int) -> int:
    """The cost of sorting, or searching, `count` elements among `length`: log2(length) comparisons
    for each."""
    return int(count * max(1.0, log2(max(2, length))))
