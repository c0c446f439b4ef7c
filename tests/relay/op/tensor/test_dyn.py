"""Types of operators with arguments for attributes."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import IRModule
from byoc_lab.relay.typing.infer import infer_module


def test_axes_that_a_computed_slice_leaves_keep_their_lengths() -> None:
    x, bound = relay.var("x", shape=(3, 4, 5)), relay.var("bound", shape=(1,), dtype="int32")
    sliced = infer_module(IRModule.from_expr(relay.strided_slice(x, bound, bound, bound)))
    assert str(sliced["main"].ret_type) == "Tensor[(?, 4, 5), float32]"
    with pytest.raises(TypeInferenceError, match="begin must have at most 1 elements"):
        infer_module(
            IRModule.from_expr(
                relay.Call(relay.op.get("dyn.strided_slice"), [bound, *[relay.const([0, 0])] * 3])
            )
        )
