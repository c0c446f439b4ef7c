"""Derived errors are enlarged to the errors that a run's samples show."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.lab.checking.bounds.error import Error
from byoc_lab.lab.checking.bounds.samples import calibrated
from byoc_lab.lab.checking.bounds.uncertain import Quantity
from byoc_lab.lab.checking.tolerances import tolerance

VALUE = np.zeros(4)
SAMPLES = tuple(np.full(4, deviation) for deviation in (-8.0, 8.0, -8.0, 8.0))


def test_derived_error_smaller_than_the_sample_errors_is_enlarged() -> None:
    assert calibrated(VALUE, Error(np.full(4, 2.0)), SAMPLES).sigma == pytest.approx(8.0)
    assert calibrated(VALUE, Error(np.full(4, 16.0)), SAMPLES).sigma == pytest.approx(16.0)


def test_missing_error_is_taken_from_the_samples() -> None:
    assert calibrated(VALUE, Error(np.array([0.0, 8, 8, 8])), SAMPLES).sigma == pytest.approx(8.0)


@pytest.mark.parametrize("odd", [np.inf, 1e200, 1e-200])
def test_element_with_nan_variance_does_not_change_the_others(odd: float) -> None:
    """The element's variance overflows or underflows float64."""
    samples = tuple(sample * [0, 1, 1, 1] for sample in SAMPLES)
    error = Error(np.array([odd, 2, 2, 2]))
    assert calibrated(VALUE, error, samples).sigma[1:] == pytest.approx(8.0)
    found = tolerance(Quantity(VALUE, Error(np.array([odd, 0.1, 0.1, 0.1])), samples))
    alone = tolerance(Quantity(VALUE[1:], Error(np.full(3, 0.1)), tuple(s[1:] for s in samples)))
    assert found[1:] == pytest.approx(alone)
