"""Rounding errors of operators, derived from the computation of each operator.

Each operator has a rule for the rounding error of one correct evaluation, independent of the order
of its sums: a standard deviation for each element of the result, computed from the number of
reduced elements and the magnitudes of the intermediate values. The relative error of one rounding
is uniformly distributed and at most u = 2 ** -24 (for float32), so its standard deviation is at
most u / sqrt(3). Sums of products are in `products.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.functions import MEASURED, ROUNDING
from byoc_lab.lab.checking.bounds.normalizations import normalization_rounding, variance_rounding
from byoc_lab.lab.checking.bounds.products import (
    PRODUCTS,
    along_axis,
    beginning,
    beginning_of_batch_norm,
    summed,
)
from byoc_lab.lab.checking.bounds.step import (
    UNIT_ROUNDOFF,
    Array,
    Step,
    Sum,
    flat,
    hypot,
    largest_difference,
    mapped,
    rounding_deviation,
)
from byoc_lab.lab.checking.bounds.summation import roundings
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.registry import OpPattern
from byoc_lab.relay.op.tensor.reduce import reduced_axes

# Roundings of a function without a rule, in units of u / sqrt(3).
FUNCTION_ROUNDINGS = sqrt(3) * MEASURED[Arithmetic.EXP].relative_rms


# A rule returns the standard deviation of the rounding error of a step in units of u / sqrt(3): a
# number or an array, or a tuple of these for several results.
RoundingRule = Callable[[Step], Any]


def _positive_sum(step: Step) -> Array:
    """Sums and means of elements. No partial sum exceeds the sum of the magnitudes."""
    x = step.args[0]
    magnitudes: Array = step.of(np.abs(x))
    axes = _summed_axes(step)
    if axes is not None:
        return np.asarray(roundings(x, axes).reshape(magnitudes.shape) * magnitudes)
    return (sqrt(step.reduced) + 1) * magnitudes


def _summed_axes(step: Step) -> tuple[int, ...] | None:
    """The axes that a sum or mean reduces; None for pooling windows, which have few elements."""
    x = step.args[0]
    if step.attrs is not None and step.attrs.get("keepdims") is not None:
        return reduced_axes(step.op.name, step.attrs, x.ndim)
    kept = (1,) * (x.ndim - step.value.ndim) + step.value.shape
    axes = tuple(n for n in range(x.ndim) if x.shape[n] != kept[n])
    return axes if all(kept[n] == 1 for n in axes) else None


def _addition(step: Step) -> Any:
    """Also holds for kernels that scale both terms first, if one term is a number c: DNNL's
    hard-swish computes a * x + b, with a = 1 / 6 and b = 1 / 2, for (x + 3) / 6.

    In units of x + c, the roundings of a and of a * x are |x| each, the rounding of b is |c|, and
    the rounding of the sum is |x + c|. If the terms cancel, the first three errors remain, so no
    multiple of |x + c| bounds the error. A rule sees one operator and cannot know whether a product
    follows, so every x + c gets |x| + |c|.
    """
    terms = np.abs(step.value)
    if any(x.size == 1 < terms.size for x in step.args):
        terms = np.maximum(terms, sum(map(np.abs, step.args)))
    return hypot(terms, beginning(step))


def _batch_norm(step: Step) -> Any:
    """Also holds for kernels that compute scale * x + shift, two terms that may cancel."""
    x, gamma, beta, mean, variance = (step.args[0], *(along_axis(step, v) for v in step.args[1:]))
    scale = np.abs(gamma if step.attrs.scale else 1) / np.sqrt(variance + step.attrs.epsilon)
    shift = np.abs(beta) if step.attrs.center else 0.0
    own = 2 * (scale * (np.abs(x) + np.abs(mean)) + shift)
    return hypot(own, beginning_of_batch_norm(step)), 0.0, 0.0


def _elementwise(step: Step) -> Array:
    """An elementwise operator without a rule: the change caused by one rounding of each argument,
    plus the error of a function."""
    unit = UNIT_ROUNDOFF["float32"]
    found = FUNCTION_ROUNDINGS * np.abs(step.value)
    for n, x in enumerate(step.args):
        if x.dtype.kind != "f":
            continue
        for factor in (1 + unit, 1 - unit):
            args = [*step.args[:n], x * factor, *step.args[n + 1 :]]
            moved = np.abs(step.again(*args) - step.value) / unit
            found = np.maximum(found, np.where(np.isfinite(moved), moved, 0.0))
    return np.asarray(found)


def _without_rule(step: Step) -> Any:
    if step.arithmetic.exact:
        return 0.0
    pattern = step.op.definition.pattern
    one = isinstance(step.value, np.ndarray) and step.value.dtype.kind == "f"
    if one and pattern in (OpPattern.ELEMWISE, OpPattern.BROADCAST):
        return _elementwise(step)
    return _backward_stable(step)


def _backward_stable(step: Step) -> Any:
    """An operator without a rule: its computed result is exact for slightly perturbed arguments.

    Each element that contributes to a result element is perturbed by one rounding.
    """
    inputs = sum(a.size for a in flat(tuple(step.args)))
    outputs = sum(v.size for v in flat(step.value))
    roundings = sqrt(inputs / max(1, outputs)) + FUNCTION_ROUNDINGS
    random, unit = np.random.default_rng(0), UNIT_ROUNDOFF["float32"]

    def perturbed(value: Array) -> Array:
        if value.dtype.kind != "f":
            return value
        return np.asarray(value * (1 + unit * random.standard_normal(value.shape)))

    def deviation(moved: Array, value: Array) -> Any:
        if value.dtype.kind != "f":
            return 0.0
        return roundings * (largest_difference(moved, value) / unit + np.abs(value))

    return mapped(deviation, step.again(*mapped(perturbed, tuple(step.args))), step.value)


def _clip(step: Step) -> Array:
    """Exact unless the dtype cannot represent the limits."""
    value = step.value
    kept = (value != step.attrs.a_min) & (value != step.attrs.a_max)
    return np.where(kept | _is_representable(step), 0.0, np.abs(value))


def _leaky_relu(step: Step) -> Array:
    return np.where(step.args[0] >= 0, 0.0, np.abs(step.value))


def _cast(step: Step) -> Array:
    return np.where(_is_representable(step), 0.0, np.abs(step.value))


def _is_representable(step: Step) -> Array:
    if step.dtype == "bfloat16":
        return np.asarray(np.frexp(step.value)[0] * 256 % 1 == 0)
    dtype = np.dtype(step.dtype)
    return np.asarray(step.value.astype(dtype) == step.value)


def _scaling(step: Step) -> Array:
    """Multiplications by powers of two, and divisions by them, are exact."""
    exact: Any = False
    for n, factor in enumerate(step.args):
        if factor.size * 4 <= step.value.size and (n or step.arithmetic is Arithmetic.PRODUCT):
            exact = exact | (np.abs(np.frexp(factor)[0]) == 0.5)
    return np.where(exact, 0.0, np.abs(step.value))


RULES: dict[Arithmetic, RoundingRule] = {
    **ROUNDING,
    Arithmetic.CLIP: _clip,
    Arithmetic.CAST: _cast,
    Arithmetic.LEAKY_RELU: _leaky_relu,
    Arithmetic.PRODUCT: _scaling,
    Arithmetic.QUOTIENT: _scaling,
    Arithmetic.VARIANCE: variance_rounding,
    Arithmetic.NORMALIZATION: normalization_rounding,
    Arithmetic.BATCH_NORM: _batch_norm,
    Arithmetic.SUM: _positive_sum,
    Arithmetic.MEAN: _positive_sum,
    Arithmetic.ADDITION: _addition,
    Arithmetic.DEQUANTIZED: lambda step: 2 * np.abs(step.value),
}


def rounding(step: Step) -> tuple[Any, Sum | None]:
    """The standard deviation of the rounding error of one operator call.

    Returns numbers or arrays in the structure of `step.value`, and the result as a `Sum` if a
    kernel may start it with a value that is added later.
    """
    known = summed(step)
    if step.arithmetic in PRODUCTS:
        assert known is not None
        found: Any = known.deviation
    else:
        found = RULES.get(step.arithmetic, _without_rule)(step)
    unit = rounding_deviation(step.dtype)
    return mapped(lambda part: unit * part, found), known
