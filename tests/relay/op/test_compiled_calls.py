"""Calls with every kind of attribute: what is compiled gives the numbers of the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ByocLabError
from byoc_lab.relay import IRModule
from byoc_lab.relay.analysis import free_vars
from byoc_lab.relay.ir.node import TupleWrapper
from byoc_lab.relay.typing.infer import infer_module
from tests.parity.facts.operators import names
from tests.relay.op.attribute_calls import ATTRIBUTE_CALLS
from tests.relay.op.calls import CALLS
from tests.relay.op.vision_calls import VISION_CALLS

LENGTH = 5  # in the place of an unknown length
CHUNKS = 8


def module_of(text: str) -> IRModule | None:
    """The module of a call, None if it is one that TVM refuses."""
    try:
        made = eval(text, {**names(relay, np), "A": LENGTH})
        body = made.astuple() if isinstance(made, TupleWrapper) else made
        return infer_module(IRModule.from_expr(relay.Function(list(free_vars(body)), body)))
    except (ByocLabError, TypeError):
        return None


def drawn(mod: IRModule) -> list[np.ndarray]:
    """Inputs: 0 and 1 where they may be indices or lengths."""
    rng = np.random.RandomState(0)
    inputs = []
    for parameter in mod["main"].params:
        ty = parameter.checked_type
        small = ty.dtype == "bool" or "int" in ty.dtype
        values = rng.randint(0, 2, ty.shape) if small else rng.uniform(0.1, 1, ty.shape)
        inputs.append(np.asarray(values).astype(ty.dtype))
    return inputs


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_compiled_calls_give_the_numbers_of_the_reference(chunk: int) -> None:
    compared = 0
    for text in list(dict.fromkeys([*CALLS, *ATTRIBUTE_CALLS, *VISION_CALLS]))[chunk::CHUNKS]:
        mod = module_of(text)
        if mod is None:
            continue
        inputs = drawn(mod)
        try:
            wanted = byoc_lab.evaluate(mod, inputs).outputs
            found = byoc_lab.build(mod).run(inputs)
        except ByocLabError:  # these inputs do not fit, or TVM cannot compile it
            continue
        compared += 1
        for ours, theirs in zip(found, wanted, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), text
            pair = (np.asarray(a, "float64") for a in (ours, theirs))
            np.testing.assert_allclose(*pair, rtol=2e-3, atol=2e-4, err_msg=text)
    assert compared > 40


def _both(body: Any, x: relay.Var, data: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    mod = IRModule.from_expr(relay.Function([x], body))
    return byoc_lab.build(mod).run([data]), list(byoc_lab.evaluate(mod, [data]).outputs)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("dtype", "least", "greatest"),
    [("uint8", 0, 255), ("int8", -128, 127), ("float32", -np.inf, np.inf)],
)
def test_argmax_of_equal_extremes_is_an_index(
    dtype: str, least: float, greatest: float, last: bool
) -> None:
    x = relay.var("x", shape=(2, 4), dtype=dtype)
    found = relay.Tuple(
        [relay.argmax(x, 1, select_last_index=last), relay.argmin(x, 1, select_last_index=last)]
    )
    data = np.array([[least] * 4, [greatest] * 4], dtype)
    ours, theirs = _both(found, x, data)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(ours, np.full((2, 2), 3 if last else 0))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "uint32"])
def test_narrow_integers_are_sorted(dtype: str) -> None:
    x = relay.var("x", shape=(2, 6), dtype=dtype)
    values, indices = relay.topk(x, 3)
    found = relay.Tuple([relay.sort(x), relay.argsort(x), values, indices])
    data = np.random.RandomState(0).randint(0, 100, (2, 6)).astype(dtype)
    for ours, theirs in zip(*_both(found, x, data), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
