"""Quantized arithmetic compared with real numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.errors import EvaluationError
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.run.reference import evaluate
from tests.relay.op.onnx_runs import f32, i32, integers, run
from tests.sweeps import some

few = settings(max_examples=some(30))


scales = st.floats(0.0009765625, 8, width=32)


@few
@given(st.sampled_from(["add", "subtract", "mul"]), st.lists(scales, min_size=3, max_size=3))
def test_arithmetic_is_within_a_unit_of_the_real_numbers(name, chosen) -> None:
    """At most one unit for each rounded operand."""
    a, b = integers(4, 1), integers(1, 5, seed=1)
    (sa, sb, so), (za, zb, zo) = chosen, (3, -5, 7)
    args = [part for s, z in ((sa, za), (sb, zb), (so, zo)) for part in (f32(s), i32(z))]
    found = run(lambda x, y: getattr(qnn, name)(x, y, *args), a, b)
    function = {"add": np.add, "subtract": np.subtract, "mul": np.multiply}[name]
    real = function(sa * (a.astype(np.float64) - za), sb * (b.astype(np.float64) - zb))
    wanted = np.clip(real / so + zo, -128, 127)
    assert found.shape == (4, 5) and found.dtype == np.int8
    assert np.abs(found - wanted).max() <= 1.001


def test_concatenate_converts_operands_to_one_scale() -> None:
    a, b = np.array([[10, 20]], np.int8), np.array([[10, 20, 127]], np.int8)
    pairs = [f32(0.5), f32(1.0)], [i32(0), i32(10)]
    found = run(lambda x, y: qnn.concatenate([x, y], *pairs, f32(0.5), i32(0), 1), a, b)
    assert found.tolist() == [[10, 20, 0, 20, 127]]


q = relay.var("q", shape=(1, 4, 8, 8), dtype="int8")


def test_mul_with_a_vector_of_scales_uses_each_channel_s_scale() -> None:
    data = integers(1, 4, 8, 3)
    scales = (0.5, 0.25, 0.03)

    def product(x: relay.Var, *scale: float) -> relay.Expr:
        rest = [i32(1), f32(1.0), i32(0), f32(0.7), i32(2)]
        return qnn.mul(x, x, f32(*scale), *rest, lhs_axis=-1)

    x = relay.var("x", shape=(1, 4, 8, 3), dtype="int8")
    whole = evaluate(relay.Function([x], product(x, *scales)), [data]).value
    for n, scale in enumerate(scales):
        alone = evaluate(relay.Function([x], product(x, scale)), [data]).value
        np.testing.assert_array_equal(whole[..., n], alone[..., n])


def test_mul_with_scales_along_two_axes_raises_evaluation_error() -> None:
    args = [f32(*[0.5] * 4), i32(0), f32(*[1.0] * 8), i32(0), f32(1.0), i32(0)]
    function = relay.Function([q], qnn.mul(q, q, *args, lhs_axis=1, rhs_axis=2))
    with pytest.raises(EvaluationError, match="share an axis, found lhs_axis=1 and rhs_axis=2"):
        evaluate(function, [integers(1, 4, 8, 8)])
