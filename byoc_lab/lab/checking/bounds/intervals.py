"""Errors of results, from the values at both ends of the intervals of the arguments.

This is exact for operators that are monotone in each element, also at kinks and steps. For an
element that may have any value, a few numbers are tried in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.error import REACH, Error, full, some
from byoc_lab.lab.checking.bounds.step import Array, Step, flat, largest_difference, mapped
from byoc_lab.relay.op.framework.arithmetic import Arithmetic

# Operators with discontinuous float results.
STEPS = (Arithmetic.FLOOR, Arithmetic.ROUND, Arithmetic.SIGN, Arithmetic.STEPS)
DRAWS = 4  # number of samples with jumps in random directions


def interval(step: Step, errors: list[Any]) -> list[Error]:
    """The change of the results if each argument moves to the ends of its interval."""
    value = flat(step.value)
    squares: list[Any] = [0.0] * len(value)
    jumps: list[Any] = [0.0] * len(value)
    steps = step.arithmetic in STEPS
    if any(e.unbounded for e in flat(tuple(errors))):
        jumps = _undecided_results(step, errors)
        errors = [mapped(_decided, a, e) for a, e in zip(step.args, errors, strict=True)]
    leaps: dict[int, Any] = {}  # the largest jump of each argument, by argument number
    for n, error in enumerate(errors):
        if not isinstance(error, Error) or error.exact:
            continue
        if steps or step.args[n].dtype.kind != "f":
            leaps[n] = error.reach
            continue
        if some(error.jump):
            leaps[n] = error.jump
        for k, change in enumerate(changes(step, {n: REACH * error.sigma})):
            if value[k].dtype.kind == "f":
                squares[k] = squares[k] + np.square(change / REACH)
            else:
                jumps[k] = jumps[k] + change
    if leaps:
        for k, change in enumerate(changes(step, leaps)):
            jumps[k] = jumps[k] + change
    return [Error(np.sqrt(s), j) for s, j in zip(squares, jumps, strict=True)]


def measured_jumps(step: Step, errors: Any, random: np.random.Generator) -> list[Any]:
    """Jumps of the results of an operator without a rule: twice the largest deviation that samples
    show when the jumps of its arguments have random directions, the same for every element of a
    result.

    Elements that may be anything are nan here. A result element that becomes nan may be anything,
    and so may every element of an integer result.
    """
    if not any(some(e.jump) for e in flat(tuple(errors))):
        return [0.0] * len(flat(step.value))

    def moved(value: Array, error: Error) -> Array:
        jump = full(error.jump, value)
        signs = random.integers(0, 2, value.shape) * 2 - 1
        by = np.where(np.isfinite(jump), signs * jump, 0.0)
        return shifted(value, by) if some(by) else value

    def poisoned(value: Array, error: Error) -> Array:
        if value.dtype.kind != "f" or not error.unbounded:
            return value
        return np.where(np.isinf(full(error.jump, value)), np.nan, value)

    values = flat(step.value)
    largest = [0.0] * len(values)
    for _ in range(DRAWS):
        args = [mapped(moved, a, e) for a, e in zip(step.args, errors, strict=True)]
        for k, result in enumerate(flat(step.again(*args))):
            largest[k] = max(largest[k], largest_difference(result, values[k]))
    if not any(e.unbounded for e in flat(tuple(errors))):
        return [2 * found for found in largest]
    args = [mapped(poisoned, a, e) for a, e in zip(step.args, errors, strict=True)]
    results = flat(step.again(*args))
    return [
        np.where(np.isnan(r) & ~np.isnan(v), np.inf, 2 * found) if v.dtype.kind == "f" else np.inf
        for found, r, v in zip(largest, results, values, strict=True)
    ]


def _undecided_results(step: Step, errors: list[Any]) -> list[Array]:
    """Infinity for each result element that depends on elements of unbounded error, which are
    varied independently."""
    found = [np.zeros(v.shape) for v in flat(step.value)]

    def replaced(number: float) -> Callable[[Array, Error], Array]:
        def replace(value: Array, error: Error) -> Array:
            free = np.isinf(full(error.jump, value))
            return np.where(free, np.asarray(number, value.dtype), value)

        return replace

    whole = any(a.dtype.kind != "f" for a in flat(tuple(step.args)))
    numbers = (0, 1, -1) if whole else (0.0, 1.0, -1.0, np.inf, -np.inf)
    for first in range(len(numbers)):
        args = [
            mapped(replaced(numbers[(first + n) % len(numbers)]), a, e)
            for n, (a, e) in enumerate(zip(step.args, errors, strict=True))
        ]
        for k, result in enumerate(flat(step.again(*args))):
            changed = ~(distance(result, flat(step.value)[k]) == 0)
            found[k] = np.where(changed, np.inf, found[k])
    return found


def _decided(value: Array, error: Error) -> Error:
    return Error(error.sigma, np.where(np.isinf(error.jump), 0.0, error.jump))


def changes(step: Step, reaches: Mapping[int, Any]) -> list[Array]:
    """The largest change of each result if arguments move by at most their entry in `reaches`, by
    argument number. Jumps of several arguments may have one cause, so they move together."""
    values = flat(step.value)
    largest = [np.zeros(v.shape) for v in values]
    for signs in product((1, -1), repeat=len(reaches)):
        args = list(step.args)
        for sign, (n, reach) in zip(signs, reaches.items(), strict=True):
            args[n] = shifted(step.args[n], sign * np.asarray(reach))
            if (
                step.arithmetic is Arithmetic.SQRT
            ):  # a machine may flush a positive number to zero, but not negate it
                args[n] = np.where(step.args[n] >= 0, np.maximum(args[n], 0.0), args[n])
        for k, end in enumerate(flat(step.again(*args))):
            largest[k] = np.maximum(largest[k], distance(end, values[k]))
    return largest


def shifted(value: Array, by: Any) -> Array:
    """`value` moved by `by`: integers in whole steps, booleans to their negation."""
    if value.dtype.kind == "f":
        return np.asarray(value + by)
    if value.dtype.kind == "b":
        return np.asarray(value ^ (np.asarray(by) != 0))
    limits = np.iinfo(value.dtype)
    moved = value.astype(np.float64) + np.sign(by) * np.ceil(np.abs(by))
    high = np.nextafter(float(limits.max), 0) if limits.max > 2**53 else limits.max
    clipped: Array = np.clip(moved, limits.min, high).astype(value.dtype)
    return clipped


def distance(a: Array, b: Array) -> Array:
    """The absolute difference of each pair of elements: 0 for equal infinities or two nan, and nan
    for a number and nan."""
    if b.dtype.kind == "b":
        return np.asarray(a != b, np.float64)
    found = np.asarray(np.abs(a.astype(np.float64, copy=False) - b.astype(np.float64, copy=False)))
    unknown = np.isnan(found)
    if unknown.any():
        found[unknown & ((a == b) | (np.isnan(a) & np.isnan(b)))] = 0.0
    return found
