"""CanonicalizeCast gives TVM 0.16's modules, keeps values and reports every change."""

from __future__ import annotations

import numpy as np

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.compat.passes import CanonicalizeCast
from byoc_lab.relay import IRModule
from byoc_lab.relay.typing.infer import infer_module
from tests.parity import cases
from tests.parity.golden import golden_test
from tests.passes.checks import assert_same_values, random_inputs, replayed

test_golden = golden_test("CanonicalizeCast")


def test_values_stay_and_events_cover_the_changes() -> None:
    changed = 0
    for function in cases.load("tidying.casts", tvm, relay, np).functions.values():
        mod = infer_module(IRModule.from_expr(function))
        after = replayed(mod, CanonicalizeCast())
        assert_same_values(mod, after, random_inputs(mod, 1, 9), rtol=1e-5)
        changed += after is not mod
    assert changed
