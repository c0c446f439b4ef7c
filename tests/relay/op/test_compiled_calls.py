"""Calls with every kind of attribute: compiled results equal those of the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import BuildError, ByocLabError
from byoc_lab.relay import IRModule
from byoc_lab.relay.analysis import free_vars
from byoc_lab.relay.ir.node import TupleWrapper
from byoc_lab.relay.typing.infer import infer_module
from tests.parity.facts.operators import names
from tests.relay.op.calls import ALL_CALLS

LENGTH = 5  # in place of an unknown dimension
CHUNKS = 8


def module_of(text: str, dtype: str = "float32") -> IRModule | None:
    """The module of a call, None if TVM refuses the call.

    dtype: for variables without a dtype in the call.
    """
    known = names(relay, np)

    def variable(shape: Any, kind: str = dtype) -> relay.Var:
        return known["V"](shape, kind)

    try:
        made = eval(text, {**known, "V": variable, "A": LENGTH})
        body = made.astuple() if isinstance(made, TupleWrapper) else made
        return infer_module(IRModule.from_expr(relay.Function(list(free_vars(body)), body)))
    except (ByocLabError, TypeError):
        return None


def drawn(mod: IRModule) -> list[np.ndarray]:
    """Inputs: 0 and 1 for arguments that may be indices or sizes."""
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
def test_compiled_calls_give_the_results_of_the_reference(chunk: int) -> None:
    compared = 0
    for text in ALL_CALLS[chunk::CHUNKS]:
        mod = module_of(text)
        if mod is None:
            continue
        inputs = drawn(mod)
        try:
            wanted = byoc_lab.evaluate(mod, inputs).outputs
            found = byoc_lab.build(mod).run(inputs)
        except ByocLabError:  # these inputs do not fit, or TVM cannot compile the call
            continue
        compared += 1
        _assert_same(text, found, wanted)
    assert compared > 40


def _assert_same(text: str, found: Any, wanted: Any, tolerance: float = 2e-3) -> None:
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), text
        pair = [np.asarray(a, "float64") for a in (ours, theirs)]
        scale = np.abs(pair[1]).max(initial=0.1)
        np.testing.assert_allclose(*pair, rtol=tolerance, atol=scale * tolerance / 10, err_msg=text)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "uint8"])
def test_calls_in_other_dtypes_equal_the_reference_or_are_refused_before_compilation(
    dtype: str,
) -> None:
    first = {text.split("(")[0].removeprefix("R."): text for text in reversed(ALL_CALLS)}
    compared = 0
    for text in first.values():
        mod = module_of(text, dtype)
        if mod is None:
            continue
        inputs = drawn(mod)
        try:
            wanted = byoc_lab.evaluate(mod, inputs).outputs
        except ByocLabError:  # the operator does not support this dtype
            continue
        try:
            found = byoc_lab.build(mod).run(inputs)
        except ByocLabError as error:
            assert "TVM cannot compile" not in str(error), (text, error)
            continue
        compared += 1
        _assert_same(text, found, wanted, 2e-2 if dtype == "float16" else 2e-3)
    assert compared > 80


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("R.image.affine_grid(V((5, 2, 3)), (3, 4))", "int32"),
        ("R.stft(V((2, 16)), 4, 2, 4)", "int32"),
        ("R.dft(V((2, 8)), V((2, 8)))", "uint8"),
        ("R.nn.lrn(V((2, 3, 4, 5)))", "int32"),
        ("R.vision.all_class_non_max_suppression(V((2, 9, 4)), V((2, 3, 9)))", "float64"),
    ],
)
def test_dtype_without_right_code_is_refused_with_operator_and_dtype(text: str, dtype: str) -> None:
    operator = text.split("(")[0].removeprefix("R.")
    with pytest.raises(BuildError, match=f"^{operator}: TVM compiles it for .*, found {dtype}"):
        byoc_lab.build(module_of(text, dtype))


def test_limits_outside_the_range_of_integers_are_clipped() -> None:
    x = relay.var("x", shape=(5,), dtype="uint8")
    data = np.array([0, 1, 2, 254, 255], "uint8")
    found = relay.Tuple([relay.clip(x, -1.5, 2), relay.clip(x, 1, 1e10), relay.clip(x, -9, -3)])
    for results in _both(found, x, data):
        for result, (low, high) in zip(results, [(0, 2), (1, 255), (0, 0)], strict=True):
            np.testing.assert_array_equal(result, data.clip(low, high))


def test_clipped_integers_are_not_rounded_to_floats() -> None:
    x = relay.var("x", shape=(2,), dtype="int64")
    data = np.array([2**53 + 1, 2**63 - 1])
    for (result,) in _both(relay.clip(x, 0.0, 2.0**63), x, data):
        np.testing.assert_array_equal(result, data)


def test_fixed_point_factor_of_one_changes_nothing() -> None:
    x = relay.var("x", shape=(4,), dtype="int32")
    data = np.array([-(2**31), -1, 0, 2**31 - 1], "int32")
    for (result,) in _both(relay.fixed_point_multiply(x, 2**30, 1), x, data):
        np.testing.assert_array_equal(result, data)


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
