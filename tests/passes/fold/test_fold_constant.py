"""FoldConstant: shapes, devices, lets, and limits of size."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import byoc_lab.compat  # noqa: F401 (defines on_device)
from byoc_lab import relay
from byoc_lab.compat.ir.relay_names import FoldConstantExpr
from byoc_lab.passes import FoldConstant
from byoc_lab.relay import Call, Constant, Expr, Function, IRModule
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from tests.parity.golden import golden_test

x = relay.var("x", shape=(2, 3))
three = relay.const(1.0) + relay.const(2.0)


def folded(expr: Expr) -> Expr:
    function = Function(free_vars(expr), expr)
    body = FoldConstant()(infer_module(IRModule.from_expr(function)))["main"].body
    assert isinstance(body, Expr)
    return body


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16"])
def test_known_shapes_are_folded(dtype: str) -> None:
    shape = folded(relay.shape_of(relay.exp(x), dtype))
    assert isinstance(shape, Constant) and shape.numpy().dtype == dtype
    assert shape.numpy().tolist() == [2, 3]
    size = folded(relay.ndarray_size(x, dtype))
    assert isinstance(size, Constant) and size.numpy().dtype == dtype and size.numpy() == 6
    twice = folded(relay.shape_of(x) + relay.shape_of(x))
    assert isinstance(twice, Constant) and twice.numpy().tolist() == [4, 6]


def test_unknown_shapes_are_not_folded() -> None:
    some = relay.var("some", shape=(2, relay.Any()))
    assert not isinstance(folded(relay.shape_of(some)), Constant)
    assert not isinstance(folded(relay.ndarray_size(some)), Constant)
    assert not isinstance(folded(relay.shape_of(relay.var("scalar", shape=()))), Constant)


def test_device_annotation_stays_around_its_constant() -> None:
    there = relay.annotation.on_device(three, "cpu", constrain_result=True)
    kept = folded(there)
    assert "on_device(3f" in str(kept)
    assert "on_device(3f" in str(folded(relay.add(x, there)))
    sum_of_both = folded(relay.add(relay.const(1.0), there))
    assert isinstance(sum_of_both, Constant) and sum_of_both.numpy() == 4
    y = relay.var("y")
    assert "let" not in str(folded(relay.Let(y, there, y + x)))
    chosen = folded(relay.If(relay.annotation.on_device(relay.const(True), "cpu"), x, relay.exp(x)))
    assert isinstance(chosen, relay.Var)


def test_expression_outside_a_module_is_folded() -> None:
    assert FoldConstantExpr(three, IRModule()).numpy() == 3
    half, zero = relay.const(0.5), relay.const(0)
    quantized = relay.qnn.op.quantize(relay.const(np.ones(2, np.float32)), half, zero)
    assert not isinstance(FoldConstantExpr(quantized, IRModule()), Constant)
    found = FoldConstantExpr(quantized, IRModule(), fold_qnn=True)
    assert found.numpy().tolist() == [2, 2]


# Golden files

test_golden = golden_test("FoldConstant")


def test_let_that_a_primitive_function_uses_stays() -> None:
    mod = relay.parse(
        """#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  let %k = add(2f, 3f);
  let %m = add(%k, 1f);
  %0 = fn (%y: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { add(%y, %k) };
  multiply(%0(%x), %m)
}
"""
    )
    folded = FoldConstant()(mod)
    inputs = [np.float32([1, 2])]
    np.testing.assert_array_equal(evaluate(folded, inputs).value, evaluate(mod, inputs).value)
    assert "let %k: float32 = 5f" in folded.astext(show_types=False)


@pytest.mark.parametrize(
    "text",
    [
        "full(1.0, shape=[100000, 100000], dtype=float32)",
        "tile(1.0, reps=[100000, 100000])",
        "repeat(broadcast_to(1.0, shape=[10]), repeats=1000000000, axis=0)",
        "broadcast_to(1.0, shape=[100000, 100000])",
        "dyn.tile(1.0, cast(broadcast_to(100000, shape=[2]), dtype=int64), reps=[])",
        "dyn.full(1.0, cast(broadcast_to(100000, shape=[2]), dtype=int64), dtype=float32)",
        "dyn.zeros(cast(broadcast_to(100000, shape=[2]), dtype=int64), dtype=float32)",
        "dyn.broadcast_to(1.0, cast(broadcast_to(100000, shape=[2]), dtype=int64))",
        "dyn.one_hot(broadcast_to(1, shape=[9]), 1.0, 0.0, 1000000000, dtype=float32, axis=-1)",
    ],
)
def test_large_results_are_not_folded(text: str) -> None:
    mod = relay.parse(f"def @main() {{ {text} }}")
    tracemalloc.start()
    try:
        body = FoldConstant()(mod)["main"].body
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50_000_000
    assert isinstance(body, Call) and all(isinstance(arg, Constant) for arg in body.args)


def test_size_limit_applies_to_bounds_that_become_known() -> None:
    end = relay.var("end", "int32")

    def upto(number: int) -> Expr:
        bound = relay.const(number)
        whole = relay.arange(relay.const(0), end, relay.const(1), dtype="int32")
        assert isinstance(folded(relay.arange(bound, dtype="int32")), Call) == (number > 3)
        return folded(relay.Let(end, bound, whole))

    large, small = upto(10**9), upto(3)
    assert isinstance(large, Call) and large.is_op("arange")
    assert isinstance(small, Constant) and small.numpy().tolist() == [0, 1, 2]
