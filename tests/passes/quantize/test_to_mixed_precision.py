"""ToMixedPrecision gives TVM 0.16's modules; replaying, values, categories and errors."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.compat.ir.loops import while_loop
from byoc_lab.errors import PassError
from byoc_lab.passes import PassContext
from byoc_lab.relay import Function, IRModule, assert_structural_equal
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.op.framework.precision import MixedPrecision
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import ToMixedPrecision
from tests.parity import cases
from tests.parity.cases import mixing
from tests.parity.golden import golden_test
from tests.passes.checks import replayed

test_golden = golden_test("ToMixedPrecision")

KEEPS = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}


def module(body: Expr) -> IRModule:
    return infer_module(IRModule.from_expr(Function(free_vars(body), body)))


@pytest.mark.parametrize("name", mixing.NAMES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision_can_be_replayed(name: str, dtype: str) -> None:
    mod = infer_module(cases.load(f"mixing.{name}", tvm, relay, np))
    assert dtype in str(replayed(mod, ToMixedPrecision(dtype, missing_op_mode=2)))


def test_mixed_precision_and_float32_results_are_close() -> None:
    mod = infer_module(cases.load("mixing.network", tvm, relay, np))
    random = np.random.default_rng(0)
    inputs = [
        random.uniform(0.1, 1, p.checked_type.concrete_shape).astype("float32")  # type: ignore[union-attr]
        for p in mod["main"].params
    ]
    with PassContext(config=KEEPS):
        mixed = ToMixedPrecision()(mod)
    assert mixed["main"].ret_type == mod["main"].ret_type
    np.testing.assert_allclose(
        evaluate(mixed, inputs).value, evaluate(mod, inputs).value, rtol=5e-2, atol=2e-3
    )


def test_operator_without_a_category_follows_missing_op_mode() -> None:
    mod = module(relay.abs(relay.var("x", shape=(4,))))
    with pytest.raises(PassError, match="abs, called 1 times, has no FTVMMixedPrecision"):
        ToMixedPrecision(missing_op_mode=0)(mod)
    with pytest.warns(UserWarning, match="abs, called 1 times"):
        mixed = ToMixedPrecision()(mod)
    assert mixed["main"].ret_type == relay.TensorType((4,), "float16")
    with pytest.raises(ValueError, match="missing_op_mode must be 0, 1 or 2, found 3"):
        ToMixedPrecision(missing_op_mode=3)
    with pytest.raises(ValueError, match="found 'int8'"):
        ToMixedPrecision("int8")


def test_registered_category_is_used() -> None:
    key, exp = "FTVMMixedPrecisionConversionType", Op.get("nn.dense")
    before = exp.get_attr(key)
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    mod = module(relay.nn.dense(x, w))
    exp.reset_attr(key)
    try:
        never = [MixedPrecision.NEVER, "float16", "float16"]
        relay.op.register_mixed_precision_conversion("nn.dense", lambda call, dtype: never)
        assert_structural_equal(ToMixedPrecision()(mod), mod)
        exp.reset_attr(key)
        wide = [0, "float32", "float16"]
        relay.op.register_mixed_precision_conversion("nn.dense", lambda call, dtype: wide)
        dense = ToMixedPrecision()(mod)["main"].body.args[0]  # type: ignore[attr-defined]
        assert dense.attrs.out_dtype == "float32"
        assert dense.args[0].checked_type.dtype == "float16"
        exp.reset_attr(key)
        relay.op.register_mixed_precision_conversion("nn.dense", lambda call, dtype: [7])
        with pytest.raises(PassError, match=r"must give a category .* found \[7\]"):
            ToMixedPrecision()(mod)
    finally:
        exp.reset_attr(key)
        exp.set_attr(key, before)


def test_bfloat16_is_divided_as_a_float() -> None:
    x = relay.var("x", shape=(3,))
    mod = ToMixedPrecision("bfloat16")(module(x / relay.const(4.0)))
    value = evaluate(mod, {"x": np.array([1.0, -2.0, 0.5], "float32")}).value
    np.testing.assert_array_equal(value.astype("float32"), [0.25, -0.5, 0.125])


def test_loop_keeps_its_signature() -> None:
    i, x = (relay.var(name, shape=(), dtype="int32") for name in "ix")
    again = while_loop(
        lambda i, x: relay.less(i, relay.const(10)),
        [i, x],
        lambda i, x: [relay.add(i, relay.const(1)), relay.add(x, i)],
    )
    scores = relay.nn.dense(
        relay.var("data", shape=(2, 2)), relay.const(np.eye(2, dtype="float32"))
    )
    start = relay.var("start", shape=(), dtype="int32")
    total = relay.TupleGetItem(relay.Call(again, [start, relay.const(0)]), 1)
    mod = module(relay.Tuple([scores, total]))
    after = infer_module(ToMixedPrecision("float16", 2)(mod))
    data = {"data": np.ones((2, 2), "float32"), "start": np.int32(7)}
    before_value, after_value = (evaluate(m, data).value for m in (mod, after))
    assert after_value[0].dtype == "float16" and before_value[1] == after_value[1] == 7 + 8 + 9


def test_functions_of_other_compilers_get_their_declared_types() -> None:
    """Neither their bodies nor their parameter types are changed."""
    x, p = relay.var("x", shape=(4, 4)), relay.var("p", shape=(4, 4))
    mod = IRModule()
    outside = relay.GlobalVar("outside")
    mod[outside] = Function([p], relay.exp(p), attrs={"Compiler": "dnnl"})
    product = relay.nn.dense(x, relay.const(np.eye(4, dtype="float32")))
    mod["main"] = Function([x], relay.Call(outside, [product]))
    mod = infer_module(mod)
    after = infer_module(ToMixedPrecision("float16")(mod))
    assert_structural_equal(after["outside"], mod["outside"])
    call = after["main"].body
    assert call.args[0].attrs.dtype == "float32" == call.checked_type.dtype
    assert call.args[0].args[0].checked_type.dtype == "float16"
    own = mod.copy()
    own["outside"] = Function([p], relay.exp(p))
    with pytest.raises(PassError, match="one of global @outside"):
        ToMixedPrecision("float16")(infer_module(own))


HEAD = '#[version = "0.0.5"]\ndef @main(%x: T, %w: T, %c: bool) '
BODIES = {
    "if": "{ if (%c) { nn.dense(%x, %w) } else { exp(%x) } }",
    "if of tuples": "{ %0 = if (%c) { (nn.dense(%x, %w), %x) } else { (%x, exp(%x)) }; "
    "add(%0.0, %0.1) }",
    "reference": "{ let %r = ref(nn.dense(%x, %w)); let %u = ref_write(%r, nn.dense(%x, %x)); "
    "ref_read(%r) }",
    "closure": "{ let %f = fn (%y: T) { nn.dense(%y, %w) }; %f(nn.relu(%x)) }",
    "closure used twice": "{ let %f = fn (%y: T) -> T { add(%y, nn.dense(%y, %w)) }; %f(%f(%x)) }",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("condition", [True, False])
def test_ifs_references_and_closures_keep_their_values(name: str, condition: bool) -> None:
    text = (HEAD + BODIES[name]).replace(": T", ": Tensor[(2, 2), float32]")
    mod = relay.parse(text.replace("-> T ", "-> Tensor[(2, 2), float32] "))
    x = np.float32([[0.1, 0.2], [0.3, 0.4]])
    inputs = {"x": x, "w": x / 4, "c": np.array(condition)}
    mixed = ToMixedPrecision()(mod)
    assert "float16" in mixed.astext()
    found = np.asarray(evaluate(mixed, inputs).value, "float32")
    np.testing.assert_allclose(found, evaluate(mod, inputs).value, rtol=1e-2, atol=1e-3)
