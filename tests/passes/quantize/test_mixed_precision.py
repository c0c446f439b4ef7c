"""ToMixedPrecision and SimplifyFCTranspose. That the results of the first are TVM's is in the
golden files (ToMixedPrecision/*)."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.compat.ir.loops import while_loop
from byoc_lab.compat.passes import SimplifyFCTranspose
from byoc_lab.compat.passes.simplify.simplify_fc_transpose import search_fc_transpose
from byoc_lab.errors import PassError
from byoc_lab.passes import Pass, PassContext
from byoc_lab.passes.quantize.to_mixed_precision import MIXED_PRECISION_NEVER
from byoc_lab.relay import Function, IRModule, assert_structural_equal
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import ToMixedPrecision
from tests.parity import cases
from tests.parity.cases import mixing

KEEPS = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}


def module(body: Expr) -> IRModule:
    return infer_module(IRModule.from_expr(Function(free_vars(body), body)))


def replayed(mod: IRModule, run: Pass) -> IRModule:
    """What `run` makes of a module, once it is sure that its events make the same."""
    with PassContext(opt_level=4):
        trace = tvm.trace(mod, [run])
    if trace.error is not None:
        raise trace.error
    assert trace[-1].events
    for stage in trace:  # passes that are required run first
        assert_structural_equal(infer_module(stage.state_after(len(stage.events))), stage.after)
    return trace.result


@pytest.mark.parametrize("name", mixing.NAMES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixing_can_be_replayed(name: str, dtype: str) -> None:
    mod = infer_module(cases.load(f"mixing.{name}", tvm, relay, np))
    assert dtype in str(replayed(mod, ToMixedPrecision(dtype, missing_op_mode=2)))


def test_the_numbers_stay_those_of_the_network() -> None:
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


def test_an_operator_without_a_colour() -> None:
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


def test_a_colour_of_ones_own() -> None:
    key, exp = "FTVMMixedPrecisionConversionType", Op.get("nn.dense")
    before = exp.get_attr(key)
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    mod = module(relay.nn.dense(x, w))
    exp.reset_attr(key)
    try:
        never = [MIXED_PRECISION_NEVER, "float16", "float16"]
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
        with pytest.raises(PassError, match=r"must give a colour .* found \[7\]"):
            ToMixedPrecision()(mod)
    finally:
        exp.reset_attr(key)
        exp.set_attr(key, before)


def test_weights_are_taken_transposed() -> None:
    shapes = {"x": (1, 4), "w": (4, 5), "v": (5, 3)}
    x, w, v = (relay.var(name, shape=shape) for name, shape in shapes.items())
    hidden = relay.nn.relu(relay.nn.dense(x, relay.transpose(w, [1, 0])))
    body = relay.Tuple([relay.nn.dense(hidden, relay.transpose(v)), relay.exp(v)])
    mod = module(body)
    assert sorted(search_fc_transpose(mod["main"])) == ["v", "w"]
    after = replayed(mod, SimplifyFCTranspose(["w", "v"]))
    # In TVM's order: those that were there, as the body meets them, then the new ones.
    assert [p.name_hint for p in after["main"].params] == ["x", "v", "w.T", "v.T"]
    random = np.random.default_rng(0)
    values = {name: random.random(shape, "float32") for name, shape in shapes.items()}
    wanted = evaluate(mod, values).outputs
    turned = {"x": values["x"], "v": values["v"], "w.T": values["w"].T, "v.T": values["v"].T}
    for got, want in zip(evaluate(after, turned).outputs, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    with pytest.raises(PassError, match=r"%v is transposed for nn\.dense"):
        SimplifyFCTranspose(["w"])(mod)


def test_a_transpose_that_swaps_nothing_stays() -> None:
    x, w = relay.var("x", shape=(4, 4)), relay.var("w", shape=(4, 4))
    mod = module(relay.nn.dense(x, relay.transpose(w, [0, 1])))
    assert search_fc_transpose(mod["main"]) == []
    assert SimplifyFCTranspose([])(mod) is mod


def test_bfloat16_is_divided_as_a_float() -> None:
    x = relay.var("x", shape=(3,))
    mod = ToMixedPrecision("bfloat16")(module(x / relay.const(4.0)))
    value = evaluate(mod, {"x": np.array([1.0, -2.0, 0.5], "float32")}).value
    np.testing.assert_array_equal(value.astype("float32"), [0.25, -0.5, 0.125])


def test_a_loop_keeps_its_signature() -> None:
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


def test_functions_of_other_compilers_get_what_they_take() -> None:
    """Their insides are not ours to change, so neither are the types of their parameters."""
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
