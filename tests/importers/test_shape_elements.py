"""Known elements of a computed shape: equal to the reference's, for any batch size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.importers.expr_normalizer import ExprNormalizer
from tests.sweeps import some

X = relay.var("x", shape=(relay.Any(), 3, 4))


def _int64(value: Any) -> relay.Expr:
    return relay.const(np.asarray(value), "int64")


@st.composite
def shapes(draw: st.DrawFn) -> relay.Expr:
    """One-dimensional values, computed from the sizes of X as exporters do."""
    value: Any = relay.shape_of(X, "int64")
    count = 3
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["take", "slice", "join", "add", "multiply", "cast", "one"]))
        if kind == "take":
            places = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3))
            value, count = relay.take(value, _int64(places), axis=0), len(places)
        elif kind == "slice":
            begin = draw(st.integers(0, count - 1))
            end = draw(st.integers(begin + 1, count))
            value, count = relay.strided_slice(value, [begin], [end]), end - begin
        elif kind == "join":
            more = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
            value, count = relay.concatenate([value, _int64(more)], axis=0), count + len(more)
        elif kind == "cast":
            value = relay.cast(relay.cast(value, "int32"), "int64")
        elif kind == "one":
            one = relay.take(value, _int64(draw(st.integers(0, count - 1))), axis=0)
            value, count = relay.expand_dims(one, axis=0), 1
        else:
            value = getattr(relay, kind)(value, _int64(draw(st.integers(-3, 3))))
    return value


@settings(deadline=None, max_examples=some(60))
@given(shapes(), st.integers(1, 5))
def test_known_elements_are_right_for_every_batch(value: relay.Expr, batch: int) -> None:
    normalizer = ExprNormalizer()
    known = normalizer.numbers(value)
    assert known is not None
    mod = relay.IRModule.from_expr(relay.Function([X], value))
    array = np.zeros((batch, 3, 4), "float32")
    wanted = byoc_lab.evaluate(mod, [array]).value
    assert known.shape == wanted.shape
    assert all(k is None or k == w for k, w in zip(known.tolist(), wanted.tolist(), strict=True))
    normalized = relay.IRModule.from_expr(relay.Function([normalizer(X)], normalizer(value)))
    found = byoc_lab.evaluate(normalized, [array]).value
    np.testing.assert_array_equal(found, wanted)


def test_value_whose_elements_are_all_known_is_a_constant() -> None:
    normalizer = ExprNormalizer()
    value = relay.take(relay.shape_of(X, "int64"), _int64([2, 1]), axis=0)
    assert isinstance(normalizer(value), relay.Constant)
    assert normalizer(value).numpy().tolist() == [4, 3]


@pytest.mark.parametrize("value", [X, relay.var("n", shape=(3,), dtype="int64"), relay.mean(X)])
def test_elements_of_other_expressions_are_unknown(value: relay.Expr) -> None:
    assert ExprNormalizer().numbers(value) is None
