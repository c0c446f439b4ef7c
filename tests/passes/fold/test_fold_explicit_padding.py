"""FoldExplicitPadding gives TVM 0.16's modules, keeps values and reports every change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay import IRModule
from byoc_lab.transform import FoldExplicitPadding, InferType
from tests import image_strategies as images
from tests.parity import cases
from tests.parity.cases import padding
from tests.parity.golden import golden_test
from tests.passes.checks import assert_same_values, random_inputs, replayed
from tests.sweeps import some

test_golden = golden_test("FoldExplicitPadding")

TOLERANCES = {"rtol": 1e-5, "atol": 1e-5}


@pytest.mark.parametrize("name", padding.NAMES)
def test_pads_are_folded_into_operators_with_equal_padding(name: str) -> None:
    mod = InferType()(cases.load(f"padding.{name}", byoc_lab, relay, np))
    after = replayed(mod, FoldExplicitPadding())
    assert_same_values(mod, after, random_inputs(mod, -3, 3), **TOLERANCES)


@pytest.mark.parametrize(
    ("name", "folds"),
    [("max_pool", True), ("max_pool_of_zeros", False), ("avg_pool_padded", False)],
)
def test_pad_is_folded_into_a_pool_only_if_its_value_cannot_be_the_maximum(
    name: str, folds: bool
) -> None:
    mod = InferType()(cases.load(f"padding.{name}", byoc_lab, relay, np))
    after = FoldExplicitPadding()(mod)
    assert ("nn.pad" not in relay.analysis.list_op_freqs(after)) == folds


@settings(max_examples=some(30))
@given(mod=images.modules())
def test_random_graphs_keep_their_values(mod: IRModule) -> None:
    after = replayed(mod, FoldExplicitPadding())
    assert_same_values(mod, after, images.inputs(), **TOLERANCES)
