"""Operators with arguments in place of attributes: types and builds."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import build, evaluate, relay
from byoc_lab.errors import BuildError, TypeInferenceError
from byoc_lab.passes import InferType
from byoc_lab.relay import IRModule
from byoc_lab.relay.typing.infer import infer_module


def test_axes_without_a_computed_slice_keep_their_sizes() -> None:
    x, bound = relay.var("x", shape=(3, 4, 5)), relay.var("bound", shape=(1,), dtype="int32")
    sliced = infer_module(IRModule.from_expr(relay.strided_slice(x, bound, bound, bound)))
    assert str(sliced["main"].ret_type) == "Tensor[(?, 4, 5), float32]"
    with pytest.raises(TypeInferenceError, match="begin must have at most 1 elements"):
        infer_module(
            IRModule.from_expr(
                relay.Call(relay.op.get("dyn.strided_slice"), [bound, *[relay.const([0, 0])] * 3])
            )
        )


def slicing(strides: list[int]) -> relay.IRModule:
    x = relay.var("x", shape=(6, 5))
    begin, end = (
        relay.var("b", shape=(2,), dtype="int64"),
        relay.var("e", shape=(1,), dtype="int32"),
    )
    call = relay.Call(
        relay.op.get("dyn.strided_slice"), [x, begin, end, relay.const(np.array(strides))]
    )
    return InferType()(relay.IRModule.from_expr(relay.Function([x, begin, end], call)))


def test_slice_with_computed_bounds_is_built() -> None:
    """Bounds of all kinds that the static operator accepts: negative, missing, and beyond the
    end."""
    pytest.importorskip("tvm")
    x = np.arange(30, dtype=np.float32).reshape(6, 5)
    mod = slicing([2, 1])
    exe = build(mod)
    for begin in ([0, 0], [-3, 1], [7, 2], [-9, -9]):
        for end in (3, -1, 99, -99):
            given = [x, np.array(begin), np.array([end], np.int32)]
            np.testing.assert_array_equal(exe.run(given)[0], evaluate(mod, given).value)
            if begin[0] >= -6:
                np.testing.assert_array_equal(exe.run(given)[0], x[begin[0] : end : 2, begin[1] :])


def test_slice_that_relax_lacks_raises_build_error() -> None:
    pytest.importorskip("tvm")
    with pytest.raises(BuildError, match=r"strides must be positive for Relax, found \[-1, 1\]"):
        build(slicing([-1, 1]))


def test_argument_that_relax_needs_as_a_constant_gives_advice() -> None:
    pytest.importorskip("tvm")
    x, k = relay.var("x", shape=(6,)), relay.var("k", shape=(), dtype="int64")
    mod = relay.IRModule.from_expr(relay.op.builder(relay.op.get("dyn.topk"))(x, k))
    with pytest.raises(
        BuildError, match=r"dyn.topk: TVM compiles .* requires a constant k.*evaluate"
    ):
        build(mod)
