"""A common check of the CombineParallel* passes."""

from __future__ import annotations

import numpy as np

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.passes import Pass
from byoc_lab.relay import IRModule
from byoc_lab.relay.typing.infer import infer_module
from tests.parity import cases
from tests.passes.checks import assert_same_values, random_inputs, replayed

TOLERANCES = {"rtol": 1e-12, "atol": 1e-12, "dtype": "float64"}


def check_combined(case: str, run: Pass) -> None:
    """`run` combines calls in a case of `parallel`; values are unchanged, and the events cover
    the changes."""
    changed = 0
    for function in cases.load(f"parallel.{case}", tvm, relay, np).functions.values():
        mod = infer_module(IRModule.from_expr(function))
        after = replayed(mod, run)
        assert_same_values(mod, after, random_inputs(mod), **TOLERANCES)
        changed += after is not mod
    assert changed
