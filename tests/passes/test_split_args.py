"""SplitArgs: the values stay, and no concatenation joins more than the limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes import InferType, SplitArgs
from byoc_lab.relay.expr import Call
from byoc_lab.relay.visit import post_order
from byoc_lab.run.reference import evaluate


def _joined(sizes: list[int]) -> tvm.IRModule:
    params = [relay.var(f"x{n}", shape=(size, 2)) for n, size in enumerate(sizes)]
    return InferType()(tvm.IRModule.from_expr(relay.Function(params, relay.concatenate(params, 0))))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(2, 6))
def test_the_values_stay(sizes: list[int], most: int) -> None:
    mod = _joined(sizes)
    made = InferType()(SplitArgs(most)(mod))
    given_values = [np.full((size, 2), n, "float32") for n, size in enumerate(sizes)]
    np.testing.assert_array_equal(
        evaluate(made, given_values).value, evaluate(mod, given_values).value
    )
    for node in post_order(made["main"]):
        if isinstance(node, Call) and node.op_name == "concatenate":
            fields = len(node.args[0].checked_type.fields)
            assert fields < most or fields == 2 == most  # one at a time is the least


def test_a_limit_of_one_leaves_no_input() -> None:
    with pytest.raises(PassError, match=r"at least 2.*found 1"):
        SplitArgs(1)(_joined([1, 2]))
