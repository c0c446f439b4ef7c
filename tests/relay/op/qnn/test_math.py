"""Requantization compared with exact arithmetic in fractions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.relay.op.qnn.math import ROUNDINGS, fixed_point
from byoc_lab.relay.qnn import op as qnn
from tests.relay.op.onnx_runs import f32, i32, integers, run
from tests.sweeps import some

few = settings(max_examples=some(30))


scales = st.floats(0.0009765625, 8, width=32)


zeros = st.integers(-20, 20)


def nearest(value: Fraction, rounding: str) -> int:
    """Rounds halves up with UPWARD, away from zero with TONEAREST, to even with TOEVEN."""
    if rounding == "TOEVEN":
        return round(value)
    if rounding == "TONEAREST" and value < 0:
        return ceil(value - Fraction(1, 2))
    return floor(value + Fraction(1, 2))


def saturated(value: int, dtype: str) -> int:
    return min(max(value, np.iinfo(dtype).min), np.iinfo(dtype).max)


@few
@given(scales, scales)
def test_multiplier_is_within_half_a_unit_of_the_ratio(a: float, b: float) -> None:
    ratio = Fraction(a) / Fraction(b)
    multiplier, shift = fixed_point(np.float64(a) / np.float64(b))
    unit = Fraction(2) ** (int(shift) - 31)
    assert 2**30 <= int(multiplier) < 2**31
    # The quotient is a float64, exact to 53 bits.
    assert abs(int(multiplier) * unit - ratio) <= unit * Fraction(501, 1000)


@few
@given(scales, scales, zeros, zeros, st.sampled_from(ROUNDINGS[1:]), st.booleans())
def test_requantize_rounds_the_exact_product(a, b, zero, out_zero, rounding, unsigned) -> None:
    x = integers(50, dtype="int16").astype(np.int32)
    dtype = "uint8" if unsigned else "int8"
    found = run(
        lambda v: qnn.requantize(
            v, f32(a), i32(zero), f32(b), i32(out_zero), rounding=rounding, out_dtype=dtype
        ),
        x,
    )
    multiplier, shift = fixed_point(np.float64(np.float32(a)) / np.float64(np.float32(b)))
    factor = Fraction(int(multiplier)) * Fraction(2) ** (int(shift) - 31)
    if np.float32(a) == np.float32(b):
        factor = Fraction(1)
    wanted = [saturated(nearest((int(v) - zero) * factor, rounding) + out_zero, dtype) for v in x]
    assert found.tolist() == wanted


def test_rounding_modes_differ_only_at_halves() -> None:
    x = np.array([-3, -1, 1, 3], np.int32)

    def halved(rounding: str) -> list[int]:
        args = (f32(0.5), i32(0), f32(1.0), i32(0))
        return run(lambda v: qnn.requantize(v, *args, rounding=rounding), x).tolist()

    assert halved("UPWARD") == [-1, 0, 1, 2] == halved("None")
    assert halved("TONEAREST") == [-2, -1, 1, 2]
    assert halved("TOEVEN") == [-2, 0, 0, 2]
