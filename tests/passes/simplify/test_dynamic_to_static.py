"""DynamicToStatic gives TVM 0.16's modules, keeps values and reports every change."""

from __future__ import annotations

import numpy as np

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.relay import Call, IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.transform import DynamicToStatic
from tests.parity import cases
from tests.parity.golden import golden_test
from tests.passes.checks import assert_same_values, random_inputs, replayed

test_golden = golden_test("DynamicToStatic")


def test_values_stay_and_events_cover_the_changes() -> None:
    changed = 0
    for function in cases.load("tidying.shapes", tvm, relay, np).functions.values():
        mod = infer_module(IRModule.from_expr(function))
        after = replayed(mod, DynamicToStatic())
        inputs = random_inputs(mod, 1, 9)
        if "s" in inputs:  # a shape with 24 elements
            inputs["s"] = np.array([4, 6])
        assert_same_values(mod, after, inputs, rtol=1e-5)
        changed += after is not mod
    assert changed


def test_operators_with_known_shapes_become_static() -> None:
    static = DynamicToStatic()(cases.load("tidying.shapes", tvm, relay, np))
    left = {
        gv.name_hint
        for gv, function in static.functions.items()
        if any(isinstance(n, Call) and n.op_name.startswith("dyn.") for n in post_order(function))
    }
    assert left == {"unknown", "expand_dims"}  # TVM leaves expand_dims, too
