"""Binary element-wise operators, compiled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import BuildError
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.typing.infer import infer_module
from tests.sweeps import some

pytest.importorskip("tvm")


def built(body: Expr, *data: np.ndarray) -> np.ndarray:
    function = relay.Function(relay.analysis.free_vars(body), body)
    mod = infer_module(IRModule.from_expr(function))
    return np.asarray(byoc_lab.build(mod).run(list(data))[0])


@settings(max_examples=some(4))
@given(dtype=st.sampled_from(["int32", "int8", "uint8"]), seed=st.integers(0, 2**16))
def test_powers_of_integers_equal_numpy(dtype: str, seed: int) -> None:
    """Including overflow: both keep the low bits."""
    rng, limits = np.random.default_rng(seed), np.iinfo(dtype)
    base = rng.integers(limits.min, limits.max, (3, 4), dtype, endpoint=True)
    exponent = rng.integers(0, limits.max, (4,), dtype, endpoint=True)
    small = (exponent % 6).astype(dtype)
    a, b = (relay.var(n, shape=v.shape, dtype=dtype) for n, v in (("a", base), ("b", exponent)))
    np.testing.assert_array_equal(built(relay.power(a, b), base, exponent), base**exponent)
    np.testing.assert_array_equal(built(relay.power(a, relay.const(small)), base), base**small)


def test_negative_constant_power_of_integers_is_refused() -> None:
    a = relay.var("a", shape=(2,), dtype="int32")
    with pytest.raises(BuildError, match="power: rhs must not be negative for integers"):
        built(relay.power(a, relay.const(-1)), np.ones(2, np.int32))


@pytest.mark.parametrize("dtype", ["bool", "float16", "float64", "int32", "uint8"])
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor", "logical_not"])
def test_logical_operators_of_numbers_give_0_or_1_in_their_dtype(name: str, dtype: str) -> None:
    data = np.array([0, 0, 3, 7, 0, 1], dtype), np.array([0, 5, 0, 9, 1, 0], dtype)
    if "float" in dtype:
        data[0][0] = np.nan
    data = data[:1] if name == "logical_not" else data
    operands = [relay.var(f"x{n}", shape=(6,), dtype=dtype) for n in range(len(data))]
    body = getattr(relay, name)(*operands)
    found = built(body, *data)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, getattr(np, name)(*data).astype(dtype))
