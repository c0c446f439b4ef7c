"""Propagated errors of results: no sample deviates by more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab.lab.checking.bounds.error import EXACT, Error
from byoc_lab.lab.checking.bounds.intervals import distance, mapped
from byoc_lab.lab.checking.bounds.propagation import propagated
from byoc_lab.lab.checking.bounds.step import Step, flat
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.evaluate import evaluate_op
from byoc_lab.relay.op.framework.registry import OpPattern, define_op, identity
from byoc_lab.run.reference import widened_attrs
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample, call_with_arguments

FIRST_ONLY = (Arithmetic.INDEXED, Arithmetic.RESAMPLED)
MARGIN = 1.01  # for what is not linear


def excess(sample: Sample) -> float | None:
    """By how much a result moves beyond its error; None for an operator whose errors are measured.

    The first argument alone moves if the others are positions or sizes.
    """
    found = call_with_arguments(sample, "float64")
    if found is None:
        return None
    call, args = found
    attrs = widened_attrs(call.op.definition.attributes(call.attrs))
    random = np.random.default_rng(0)
    first_only = call.op.definition.arithmetic_of(attrs) in FIRST_ONLY

    def error(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(error, value))
        if value.dtype.kind != "f":
            return EXACT
        return Error(0.0, 1e-5 * np.abs(value) * random.random(value.shape))

    def moved(value: np.ndarray, by: Error) -> np.ndarray:
        return value + by.jump * random.choice([-1, 1], value.shape) if np.any(by.jump) else value

    results = evaluate_op(call.op, attrs, args)
    step = Step(call.op, attrs, tuple(args), results, [None] * len(args))
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
def test_a_result_moves_within_its_error(sample: Sample) -> None:
    assert not excess(sample)


def test_a_wrong_kind_is_found() -> None:
    """Squares are not copies, though the pattern says so."""
    op = define_op(
        "test.square",
        "data",
        identity,
        reference=lambda attrs, x: x * x,
        pattern=OpPattern.INJECTIVE,
    )
    assert excess(Sample("test.square", lambda x: Call(op, [x])))
