"""FastMath gives TVM 0.16's modules, keeps values here and reports every change."""

from __future__ import annotations

from hypothesis import given, settings

from byoc_lab import relay
from byoc_lab.compat.passes import FastMath
from byoc_lab.relay import IRModule
from tests import strategies
from tests.parity.golden import golden_test
from tests.passes.checks import assert_same_values, replayed
from tests.sweeps import some

test_golden = golden_test("FastMath")


@settings(max_examples=some(30))
@given(mod=strategies.modules())
def test_fast_operators_compute_the_exact_values_here(mod: IRModule) -> None:
    after = replayed(mod, FastMath())
    assert_same_values(mod, after, strategies.inputs(), rtol=1e-5, atol=1e-5)
    assert not {"exp", "tanh", "nn.softmax"} & set(relay.analysis.list_op_freqs(after))
