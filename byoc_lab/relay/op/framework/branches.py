"""Branches of operators: alternative computations of an element, some of which given inputs may not
exercise.

A function maps the attributes, the arguments and the result of a call to the branches and whether
an element took each. A computation is split into branches if a wrong kernel could be right in one
of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Branches = Callable[[Any, "tuple[Any, ...]", Any], "dict[str, bool]"]


def by_sign(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    (x, *_) = args
    return {"a negative element": bool(np.any(x < 0)), "a positive element": bool(np.any(x > 0))}


def by_limits(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    (x,) = args
    if attrs.a_min >= attrs.a_max:
        return {}
    return {
        f"an element below {attrs.a_min:g}": bool(np.any(x < attrs.a_min)),
        f"an element above {attrs.a_max:g}": bool(np.any(x > attrs.a_max)),
        "an element inside": bool(np.any((x > attrs.a_min) & (x < attrs.a_max))),
    }


def by_operand(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    x, y = args
    return {
        "the first operand": bool(np.any(value != y)),
        "the second operand": bool(np.any(value != x)),
    }


def by_condition(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    cond = args[0]
    return {"a true condition": bool(np.any(cond)), "a false condition": not bool(np.all(cond))}


def by_truth(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    return {"a true result": bool(np.any(value)), "a false result": not bool(np.all(value))}


def by_saturation(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    if value.dtype.kind not in "iu":
        return {}
    info = np.iinfo(value.dtype)
    inside = (value > info.min) & (value < info.max)
    return {
        f"a value that saturates at {info.max}": bool(np.any(value == info.max)),
        f"a value that saturates at {info.min}": bool(np.any(value == info.min)),
        "a value inside": bool(np.any(inside)),
    }


def by_flatness(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    (x,) = args
    return {
        "an argument beyond 8": bool(np.any(np.abs(x) > 8)),
        "one near 0": bool(np.any(np.abs(x) < 1)),
    }


def by_difference(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    spread = np.ptp(value, axis=attrs.axis) if value.size else np.zeros(1)
    return {"results that differ": bool(np.any(spread > 1e-6))}
