"""Type inference of typed modules: only nodes that may have changed are traversed."""

from __future__ import annotations

from unittest import mock
from weakref import WeakSet

import pytest
from hypothesis import given

import byoc_lab as tvm
from byoc_lab import lint, relay
from byoc_lab.errors import FreeVariableError, TypeInferenceError
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.dims import symbol
from byoc_lab.relay.ir.dims.integers import IntImm
from byoc_lab.relay.typing import infer
from tests import strategies

InferType = relay.transform.InferType
X, Y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))


@given(mod=strategies.modules())
def test_typed_module_is_returned_unchanged(mod: tvm.IRModule) -> None:
    typed = InferType()(mod)
    assert InferType()(typed) is typed
    with mock.patch.object(infer, "_SETTLED", WeakSet()):
        assert InferType()(typed) is typed
        assert structural_equal(InferType()(mod), typed)


def test_unchanged_function_without_calls_is_not_traversed_again() -> None:
    x = relay.var("x", shape=(2,))
    typed = InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))))
    with mock.patch.object(infer.Solver, "walk", side_effect=AssertionError):
        assert InferType()(typed) is typed
        other = InferType()(tvm.IRModule({"f": typed["main"]}))
    assert other["f"] is typed["main"]


def calling(callee: relay.Function) -> tvm.IRModule:
    """@main of float32 (2,), which calls @f, of the same type, with its parameter."""
    y = relay.var("y", shape=(2,))
    mod = tvm.IRModule({"f": callee})
    mod["main"] = relay.Function([y], relay.Call(mod.get_global_var("f"), [y]))
    return mod


def test_caller_is_typed_anew_when_its_callee_changes() -> None:
    x, z = relay.var("x", shape=(2,)), relay.var("z", shape=(2,))
    mod = InferType()(calling(relay.Function([x], relay.exp(x))))
    assert mod["main"].ret_type == relay.TensorType((2,))
    mod["f"] = relay.Function([z], relay.cast(z, "int8"))
    with pytest.raises(TypeInferenceError, match=r"found .*int8.* expected .*float32"):
        InferType()(mod)


def test_sizes_inferred_in_another_function_reach_typed_nodes() -> None:
    x = relay.var("x", relay.TensorType((symbol("n"),), "float32"))
    f = InferType()(tvm.IRModule({"f": relay.Function([x], relay.exp(x))}))["f"]
    assert InferType()(calling(f))["f"].body.checked_type == relay.TensorType((2,))


@pytest.mark.parametrize("main", ["(%x: float32) { Full(%x) }", "(%x: Box[]) { %x }"])
def test_data_needs_its_type_definition_in_every_module(main: str) -> None:
    typed = relay.parse(f'#[version = "0.0.5"] type Box {{ Full(float32) }} def @main{main}')
    assert InferType()(typed) is typed
    with pytest.raises(TypeInferenceError, match=r"Box.* the module"):
        InferType()(tvm.IRModule({"main": typed["main"]}))


def test_equal_tensor_types_are_one_object() -> None:
    assert relay.TensorType([2, relay.const(3).data.numpy()]) is relay.TensorType((2, 3), "float32")
    assert relay.TensorType((True,)) is relay.TensorType((1.0,))
    assert relay.TensorType((2,), "int8") is not relay.TensorType((2,))


def test_dimensions_of_another_dtype_are_kept() -> None:
    narrow, wide = relay.TensorType((3,)), relay.TensorType((IntImm("int64", 3),))
    assert narrow == wide
    assert [t.shape[0].dtype for t in (narrow, wide)] == ["int32", "int64"]


def test_free_variables_are_reported_before_other_scope_errors() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    twice = relay.Let(x, y, relay.Let(x, x, x))
    with pytest.raises(FreeVariableError, match="contains free variables"):
        InferType()(tvm.IRModule({"main": relay.Function([], twice)}))


def test_partitioned_module_keeps_its_source_texts() -> None:
    mod = relay.parse("""#[version = "0.0.5"]
    def @main(%x: Tensor[(2), float32]) {
      %0 = annotation.compiler_begin(%x, compiler="a");
      annotation.compiler_end(nn.relu(%0), compiler="a")
    }""")
    parted = relay.transform.PartitionGraph()(mod)
    assert len(parted.functions) == 2
    assert parted.source_map.source_map == mod.source_map.source_map != {}


def _let_of(value: relay.Expr, variable: relay.Var) -> relay.IRModule:
    function = relay.Function([X], relay.Let(variable, value, relay.add(X, variable)))
    return relay.IRModule.from_expr(function)


@pytest.mark.parametrize(
    "value",
    [
        Y,
        relay.nn.relu(Y),
        relay.Let(relay.var("z", shape=(2,)), relay.exp(Y), Y),
        relay.Call(relay.Function([], Y), []),
        relay.If(relay.const(True), X, Y),
    ],
    ids=["variable", "call", "let", "called function", "branch"],
)
def test_let_whose_value_uses_its_variable_is_refused_as_by_tvm(value: relay.Expr) -> None:
    with pytest.raises(
        TypeInferenceError, match="%y is used in the value of its own let"
    ) as raised:
        InferType()(_let_of(value, Y))
    assert raised.value.node is Y
    (found,) = lint(_let_of(value, Y))
    assert (found.code, found.node) == ("BYL004", Y)


def test_function_literal_bound_by_a_let_may_call_itself() -> None:
    f, a = relay.var("f"), relay.var("a", shape=(2,))
    itself = relay.Function([a], relay.Call(f, [relay.nn.relu(a)]), Y.type_annotation)
    mod = relay.IRModule.from_expr(relay.Function([X], relay.Let(f, itself, relay.Call(f, [X]))))
    assert InferType()(mod)["main"].is_typed and not lint(mod)
