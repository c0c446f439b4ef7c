"""Propagated errors bound the deviation of every sample result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab.lab.checking.bounds.error import EXACT, Error
from byoc_lab.lab.checking.bounds.intervals import distance
from byoc_lab.lab.checking.bounds.propagation import propagated
from byoc_lab.lab.checking.bounds.rounding import rounding
from byoc_lab.lab.checking.bounds.step import Step, flat, mapped
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.evaluate import evaluate_op
from byoc_lab.relay.op.framework.registry import OpPattern, define_op, identity
from byoc_lab.run.reference import widened_attrs
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample, call_with_arguments

FIRST_ONLY = (Arithmetic.INDEXED, Arithmetic.RESAMPLED)
MARGIN = 1.01  # allows for second-order errors of nonlinear functions


def step_of(sample: Sample) -> Step | None:
    """The sample's call in float64; None if its arguments are not floats."""
    found = call_with_arguments(sample, "float64")
    if found is None:
        return None
    call, args = found
    attrs = widened_attrs(call.op.definition.attributes(call.attrs))
    results = evaluate_op(call.op, attrs, args)
    return Step(call.op, attrs, tuple(args), results, [None] * len(args))


def excess(step: Step) -> float | None:
    """The largest change of a result beyond its propagated error; None for measured errors.

    Only the first argument is changed if the others are positions or sizes.
    """
    args, results = step.args, step.value
    random = np.random.default_rng(0)
    first_only = step.arithmetic in FIRST_ONLY

    def error(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(error, value))
        if value.dtype.kind != "f":
            return EXACT
        return Error(0.0, 1e-5 * np.abs(value) * random.random(value.shape))

    def moved(value: np.ndarray, by: Error) -> np.ndarray:
        return value + by.jump * random.choice([-1, 1], value.shape) if np.any(by.jump) else value

    errors = [EXACT if n and first_only else error(arg) for n, arg in enumerate(args)]
    bounds = propagated(step, errors)
    if bounds is None:
        return None
    others = step.again(*(mapped(moved, a, e) for a, e in zip(args, errors, strict=True)))
    beyond = [0.0]
    for other, result, bound in zip(flat(others), flat(results), bounds, strict=True):
        allowed = MARGIN * np.asarray(bound.jump) + 1e-12 * np.abs(result.astype(float))
        off = distance(other, result) - allowed
        beyond.append(float(np.max(off, initial=0.0, where=np.isfinite(off))))
    return max(beyond)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.label)
def test_propagated_error_bounds_the_change_of_a_result_and_its_rounding_is_finite(
    sample: Sample,
) -> None:
    step = step_of(sample)
    if step is None:
        return
    assert not excess(step)
    with np.errstate(all="ignore"):
        found, _ = rounding(step)
    parts = found if isinstance(found, tuple) else (found,) * len(flat(step.value))
    for part, value in zip(parts, flat(step.value), strict=True):
        if value.dtype.kind == "f":
            known = np.broadcast_to(part, value.shape)[np.isfinite(value)]
            assert np.all((known >= 0) & np.isfinite(known))


def test_operator_with_a_wrong_error_kind_is_detected() -> None:
    """The operator squares its input, but its registered pattern says that it copies."""
    op = define_op(
        "test.square",
        "data",
        identity,
        reference=lambda attrs, x: x * x,
        pattern=OpPattern.INJECTIVE,
    )
    step = step_of(Sample("test.square", lambda x: Call(op, [x])))
    assert step is not None and excess(step)
