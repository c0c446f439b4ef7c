"""Propagation of errors from the arguments of an operator to its result, element by element.

An error has two parts. `sigma` is the standard deviation of the sum of many roundings. `jump`
    bounds discontinuities: a rounding to integers whose tie is within the error, or an underflow
    that a machine may flush to zero. To first order, independent errors propagate as sigma(f)**2 =
    sum over the arguments of (df/dx * sigma(x))**2 (JCGM 100:2008, "Guide to the expression of
    uncertainty in measurement", 5.1.2), implemented in `derivatives.py` for some operators. Other
    operators that are monotone in each element are evaluated at both ends of the interval of each
    argument (`intervals.py`). All remaining operators get the largest deviation that perturbed
    samples of their arguments show.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.derivatives import (
    batch_norm,
    bilinear,
    of_arg,
    of_mean,
    of_product,
    of_sum,
    relu,
    softmax,
)
from byoc_lab.lab.checking.bounds.error import ANYTHING, EXACT, Error, full
from byoc_lab.lab.checking.bounds.intervals import interval
from byoc_lab.lab.checking.bounds.normalizations import normalization, variance
from byoc_lab.lab.checking.bounds.step import UNIT_ROUNDOFF, Array, Step, flat, mapped
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.registry import OpPattern


def propagated(step: Step, errors: Any) -> list[Error] | None:
    """Propagate the errors of the arguments of a step to its results, flat.

    errors: in the structure of `step.args`. Returns None for an operator without a rule; its errors
    must be measured.
    """
    if all(e.exact for e in flat(tuple(errors))):
        return [EXACT] * len(flat(step.value))
    elementwise = step.op.definition.pattern in (OpPattern.ELEMWISE, OpPattern.BROADCAST)
    rule = RULES.get(step.arithmetic, interval if elementwise else None)
    if rule is None:
        return None
    with np.errstate(all="ignore"):
        found = rule(step, list(errors))
    # The derivative at nan is nan but not an error: a result that is nan on all machines stays nan.
    decided = rule is not interval and not any(e.unbounded for e in flat(tuple(errors)))
    return [_without_nan(e, v, decided) for e, v in zip(found, flat(step.value), strict=True)]


def _without_nan(error: Error, value: Array, decided: bool) -> Error:
    """Replace nan in an error by an unbounded error: nothing is known about such an element (inf -
    inf).

    A number moved by a jump is rounded at its new position, hence a small margin on top of the
    jump.
    """
    sigma, jump = np.asarray(error.sigma, float), np.asarray(error.jump, float)
    if value.dtype.kind == "f":
        jump = JUMP_ROUNDING * jump
        if decided and np.isnan(value).any():
            sigma, jump = (np.where(np.isnan(value), 0.0, part) for part in (sigma, jump))
    known = np.isfinite(sigma) & (jump < ANYTHING / 2)
    if known.all():
        return Error(sigma, jump)
    lost = ~known
    return Error(np.where(lost, 0.0, sigma), np.where(lost, np.inf, jump))


def _moved(step: Step, errors: list[Any]) -> list[Error]:
    """For operators that copy or average elements: their errors are copied or averaged, too."""
    indexed = step.arithmetic is not Arithmetic.COPY

    def parts(part: str) -> list[Array]:
        position = count()

        def taken(value: Array, error: Error) -> Array:
            if next(position) and indexed:
                return value
            return np.asarray(np.abs(full(getattr(error, part), value)))

        args = [mapped(taken, v, e) for v, e in zip(step.args, errors, strict=True)]
        return [np.abs(np.asarray(v, np.float64)) for v in flat(step.again(*args))]

    return [Error(s, j) for s, j in zip(parts("sigma"), parts("jump"), strict=True)]


JUMP_ROUNDING = 1 + 4 * UNIT_ROUNDOFF["float32"]
Rule = Callable[[Step, "list[Any]"], "list[Error]"]
RULES: dict[Arithmetic, Rule] = {
    Arithmetic.COPY: _moved,
    Arithmetic.INDEXED: _moved,
    Arithmetic.RESAMPLED: _moved,
    Arithmetic.CONVOLUTION: bilinear,
    Arithmetic.MATRIX_PRODUCT: bilinear,
    Arithmetic.INTEGER_PRODUCT: bilinear,
    Arithmetic.SUM: of_mean,
    Arithmetic.MEAN: of_mean,
    Arithmetic.ADDITION: of_sum,
    Arithmetic.PRODUCT: of_product,
    Arithmetic.RELU: relu,
    Arithmetic.BATCH_NORM: batch_norm,
    Arithmetic.NORMALIZATION: normalization,
    Arithmetic.VARIANCE: variance,
    Arithmetic.EXTREME: interval,
    Arithmetic.MAX_POOL: interval,
    Arithmetic.SOFTMAX: softmax,
    Arithmetic.LOG_SOFTMAX: softmax,
    Arithmetic.ARGMAX: of_arg,
    Arithmetic.ARGMIN: of_arg,
}
