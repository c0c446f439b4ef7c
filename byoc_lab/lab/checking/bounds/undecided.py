"""Deviations other than rounding errors: integers that differ by whole steps, and elements that
correct machines compute differently (overflow, underflow, the order of nan)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.causes import NONE, OVERFLOW, SPECIAL_VALUES, Causes
from byoc_lab.lab.checking.bounds.error import Error, some
from byoc_lab.lab.checking.bounds.intervals import changes
from byoc_lab.lab.checking.bounds.products import PRODUCTS, added_to, along_axis
from byoc_lab.lab.checking.bounds.step import UNIT_ROUNDOFF, Array, Step, flat
from byoc_lab.relay.op.framework.arithmetic import Arithmetic


def _range(dtype: np.dtype[Any]) -> tuple[float, float]:
    if dtype.kind not in "iu":
        return -np.inf, np.inf
    info = np.iinfo(dtype)
    return float(info.min), float(info.max)


@cache
def limits(dtype: str) -> tuple[float, float]:
    """The largest and the smallest normal number of a float dtype."""
    if dtype == "bfloat16":
        return 3.3895313892515355e38, 2.0**-126
    info = np.finfo(dtype)
    return float(info.max), float(info.tiny)


def undecided(step: Step, value: Array, dtype: str) -> tuple[Any, Causes]:
    """The elements for which two correct machines may differ by more than float rounding, and the
    causes.

    A machine may flush numbers below its normal range to zero; numbers above the range become
    infinite in `dtype`, and results of an infinity may be anything. SPECIAL_VALUES lists the known
    special cases.
    """
    if dtype not in UNIT_ROUNDOFF or not value.size:
        return 0.0, NONE
    largest, smallest = limits(dtype)
    size = np.abs(value)
    # a margin of 4, because kernels scale before the last rounding
    small = (size < 4 * smallest) & (size > 0)
    free = (size > largest) & np.isfinite(size)
    if step.arithmetic is Arithmetic.BATCH_NORM and value.shape == step.args[0].shape:
        free |= _normalized(step) > largest  # the normalized value, before gamma scales it
    if step.arithmetic in SQUARING:  # the sum of squares may overflow
        x = step.args[0]
        with np.errstate(all="ignore"):
            beyond = x.size * np.square(x) > largest
            if np.any(beyond):  # results that depend on the overflow become nan
                free |= np.isnan(flat(step.of(np.where(beyond, np.nan, x)))[0])
    if step.arithmetic in AVERAGING:  # the sum may exceed the range although the mean is inside it
        with np.errstate(all="ignore"):
            x = step.args[0]
            # Infinite elements count, too: kernels with masks multiply values outside the mask
            # by 0.
            free |= ~(step.of(np.abs(x)) * step.reduced <= largest) & ~np.isnan(value)
    free |= _partial_sums_overflow(step, largest)
    causes = {OVERFLOW} if free.any() else set()
    for fact in SPECIAL_VALUES.get(step.arithmetic, ()):
        changed = fact.elements(step, value)
        if changed.any():
            free |= changed
            causes.add(fact.cause(step.op.name))
    jump = np.where(free, np.inf, np.where(small, 4 * smallest, 0.0))
    if step.arithmetic is Arithmetic.ROUND:  # ties: LLVM rounds away from zero, oneDNN to even
        with np.errstate(invalid="ignore"):
            tie = np.abs(step.args[0] - np.trunc(step.args[0])) == 0.5
        jump = jump + tie
    return (jump if some(jump) else 0.0), frozenset(causes)


def denormal(value: Array, dtype: str) -> Any:
    """The jump of an argument that a machine may read as zero."""
    if dtype not in UNIT_ROUNDOFF or not value.size:
        return 0.0
    smallest = limits(dtype)[1]
    size = np.abs(value)
    small = (size < smallest) & (size > 0)
    return np.where(small, smallest, 0.0) if small.any() else 0.0


def _partial_sums_overflow(step: Step, largest: float) -> Any:
    """A mask of the results whose products may overflow the dtype when summed in some order."""
    with np.errstate(all="ignore"):
        if step.arithmetic in PRODUCTS:
            x, w = (np.abs(a.astype(np.float64)) for a in step.args[:2])
            k = x.size * w.size / max(1, step.value.size)
            if not np.nanmax(x, initial=0) * np.nanmax(w, initial=0) * k > largest:
                return False
            return np.asarray(step.again(x, w, *step.args[2:])) > largest
        found: Any = False
        for known, other in added_to(step):
            found = found | (known.peak + np.abs(other) > largest)
        return found


def _normalized(step: Step) -> Array:
    mean, variance = (along_axis(step, v) for v in step.args[3:])
    with np.errstate(all="ignore"):
        deviation = np.sqrt(variance + step.attrs.epsilon)
        return np.asarray((np.abs(step.args[0]) + np.abs(mean)) / deviation)


def rounded_steps(step: Step, value: Array, errors: Sequence[Any], inherited: Error) -> Any:
    """The number of steps by which integers may differ because they are rounded from float32
    numbers.

    errors: the errors of the arguments. inherited: the error that the arguments cause in the
    result; a step is counted once if both the argument's error and the rounding reach the tie. An
    integer converted from nan, or from a number beyond its range, is undefined.
    """
    if step.arithmetic is Arithmetic.CAST and step.args[0].dtype.kind == "f":
        low, high = _range(value.dtype)
        with np.errstate(invalid="ignore"):
            defined = (step.args[0] > low - 1) & (step.args[0] < high + 1)
        return 0.0 if np.all(defined) or value.dtype.kind == "b" else np.where(defined, 0.0, np.inf)
    if step.arithmetic in (Arithmetic.ARGMAX, Arithmetic.ARGMIN) and np.any(np.isnan(step.args[0])):
        return _among_nan(step)
    if step.arithmetic in (Arithmetic.QUANTIZED, Arithmetic.REQUANTIZED):
        x = step.args[0]
        with np.errstate(all="ignore"):
            if x.dtype.kind == "f":
                reach = 4 * UNIT_ROUNDOFF["float32"] * np.abs(x)
            elif step.arithmetic is Arithmetic.REQUANTIZED and _shifts(step):
                return 0.0
            else:  # an accumulator: one step plus the float32 rounding of its magnitude
                reach = 1 + 8 * UNIT_ROUNDOFF["float32"] * np.abs(x.astype(np.float64))
            known = np.where(np.isfinite(errors[0].reach), errors[0].reach, 0.0)
            both = changes(step, {0: reach + known})[0] - inherited.jump
            steps = np.where(np.isfinite(both), np.clip(both, 0.0, 1.0), 0.0)
            return np.where(np.isnan(x), np.inf, steps) if x.dtype.kind == "f" else steps
    is_exact = step.arithmetic is Arithmetic.INTEGER_PRODUCT  # integer arithmetic only
    return 1.0 if step.op.name.startswith("qnn.") and not is_exact else 0.0


def _among_nan(step: Step) -> Array:
    """results of INTEGER_PRODUCT are exact"""
    x, axes = step.args[0], step.attrs.get("axis")
    unordered = np.isnan(x)
    if axes is None or len(axes) != 1 or step.attrs.get("exclude"):
        return np.full(step.value.shape, np.inf)
    found = np.any(unordered, axis=int(axes[0])).reshape(step.value.shape)
    return np.where(found, np.inf, 0.0)


def _shifts(step: Step) -> bool:
    """Whether a requantize scales by powers of two that float32 holds. It is then exact, in float32
    and as a multiplication by an integer and a shift."""
    x, scale, _, new_scale = step.args[:4]
    with np.errstate(all="ignore"):
        ratio = scale / new_scale
        exact = np.abs(np.frexp(ratio)[0]) == 0.5
    small = np.all(np.abs(x.astype(np.float64)) < 2**20)
    return bool(small and np.all(exact & (ratio > 2.0**-20) & (ratio < 2.0**8)))


AVERAGING = (Arithmetic.SUM, Arithmetic.MEAN)
SQUARING = (Arithmetic.NORMALIZATION, Arithmetic.SQUARES, Arithmetic.VARIANCE)
