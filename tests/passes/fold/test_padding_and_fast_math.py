"""FoldExplicitPadding and FastMath: the numbers stay, and the events are enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import byoc_lab
from byoc_lab import relay
from byoc_lab.compat.passes import FastMath
from byoc_lab.passes import Pass, PassContext
from byoc_lab.relay import IRModule, assert_structural_equal
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import FoldExplicitPadding, InferType
from tests import image_strategies as images
from tests import strategies
from tests.parity import cases
from tests.parity.cases import padding


def _checked(mod: IRModule, one: Pass) -> IRModule:
    """`mod` after a pass, whose events have been found to be enough."""
    with PassContext(opt_level=4):
        trace = byoc_lab.trace(mod, [one])
    if trace.error is not None:
        raise trace.error
    (stage,) = trace
    again = infer_module(stage.state_after(len(stage.events)))
    assert_structural_equal(again, stage.after)
    assert bool(stage.events) or not stage.changed
    return stage.after


def _inputs(mod: IRModule) -> dict[str, np.ndarray]:
    random = np.random.RandomState(3)
    types = {p.name_hint: p.checked_type for p in mod["main"].params}
    return {n: random.uniform(-3, 3, t.shape).astype(t.dtype) for n, t in types.items()}


def _flat(mod: IRModule, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    value = evaluate(mod, inputs, dtype=None).value
    return list(value) if isinstance(value, tuple) else [value]


def _assert_same_values(before: IRModule, after: IRModule, inputs: dict[str, np.ndarray]) -> None:
    for b, a in zip(_flat(before, inputs), _flat(after, inputs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", padding.NAMES)
def test_pads_fold_into_operators_that_pad_alike(name: str) -> None:
    mod = InferType()(cases.load(f"padding.{name}", byoc_lab, relay, np))
    _assert_same_values(mod, _checked(mod, FoldExplicitPadding()), _inputs(mod))


@pytest.mark.parametrize(
    ("name", "folds"),
    [("max_pool", True), ("max_pool_of_zeros", False), ("avg_pool_padded", False)],
)
def test_a_pool_pads_with_the_number_that_cannot_win(name: str, folds: bool) -> None:
    mod = InferType()(cases.load(f"padding.{name}", byoc_lab, relay, np))
    after = FoldExplicitPadding()(mod)
    assert ("nn.pad" not in relay.analysis.list_op_freqs(after)) == folds


@settings(max_examples=30)
@given(mod=images.modules())
def test_padding_of_random_graphs(mod: IRModule) -> None:
    _assert_same_values(mod, _checked(mod, FoldExplicitPadding()), images.inputs())


@settings(max_examples=30)
@given(mod=strategies.modules())
def test_approximations_stand_for_the_same_numbers_here(mod: IRModule) -> None:
    after = _checked(mod, FastMath())
    _assert_same_values(mod, after, strategies.inputs())
    assert not {"exp", "tanh", "nn.softmax"} & set(relay.analysis.list_op_freqs(after))
