"""Structural equality and hashes: attributes, numbers, binders and types."""

from __future__ import annotations

import subprocess
from enum import IntEnum
from textwrap import dedent

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.relay import IRModule, assert_structural_equal, structural_equal, structural_hash
from byoc_lab.relay.typing.infer import infer_module
from tests.parity.client import python_path


class Level(IntEnum):
    ONE = 1


def _function(**attrs: object) -> relay.Function:
    x = relay.var("x", shape=(2,))
    return relay.Function([x], relay.nn.relu(x)).with_attr(attrs)


def test_integers_of_different_classes_are_equal() -> None:
    assert structural_equal(_function(Primitive=1), _function(Primitive=Level.ONE))
    assert not structural_equal(_function(Primitive=1), _function(Primitive=True))
    assert not structural_equal(_function(Primitive=1), _function(Primitive=1.0))


def test_numbers_rounded_to_float32_are_equal() -> None:
    x, *stats = (relay.var(n, shape=(4,)) for n in "xabcd")
    exact = relay.nn.batch_norm(x, *stats, epsilon=1e-5)[0]
    rounded = relay.nn.batch_norm(x, *stats, epsilon=float(np.float32(1e-5)))[0]
    other = relay.nn.batch_norm(x, *stats, epsilon=1.1e-5)[0]
    assert structural_equal(exact, rounded)
    assert structural_hash(exact) == structural_hash(rounded)
    assert not structural_equal(exact, other)


def test_lists_and_attributes_are_compared_by_value() -> None:
    assert structural_equal([1, [2, 3]], (1, (2, 3)))
    assert structural_equal({"a": 1}, {"a": 1})
    conv = relay.nn.conv2d(relay.var("x"), relay.var("w"), kernel_size=(3, 3))
    assert structural_equal(conv.attrs, conv.attrs.replace(groups=1))
    with pytest.raises(ValueError, match="different values"):
        assert_structural_equal([1, 2], [1, 3])


def test_patterns_of_branches_and_lets_have_parts() -> None:
    cond, left, right = (relay.dataflow_pattern.is_var(n) for n in "clr")
    branch = relay.dataflow_pattern.is_if(cond, left, right)
    assert (branch.cond, branch.true_branch, branch.false_branch) == (cond, left, right)
    binding = relay.dataflow_pattern.is_let(cond, left, right)
    assert (binding.var, binding.value, binding.body) == (cond, left, right)


def test_patterns_with_renamed_variables_are_equal():
    def pair(*names: str, ty: str = "int8") -> relay.Pattern:
        made = [relay.PatternVar(relay.Var(n, relay.scalar_type(ty))) for n in names]
        return relay.PatternTuple([*made, relay.PatternWildcard()])

    relay.assert_structural_equal(pair("a", "b"), pair("c", "d"))
    assert relay.structural_hash(pair("a", "b")) == relay.structural_hash(pair("c", "d"))
    assert not relay.structural_equal(pair("a", "b"), pair("a"))
    assert not relay.structural_equal(pair("a"), pair("a", ty="int16"))
    assert not relay.structural_equal(pair("a"), relay.var("a"))


def test_type_definitions_with_renamed_variables_are_equal():
    def box(var: str, constructor: str) -> relay.TypeData:
        header, a = relay.GlobalTypeVar("Box"), relay.TypeVar(var)
        return relay.TypeData(header, [a], [relay.Constructor(constructor, [a], header)])

    relay.assert_structural_equal(box("A", "Put"), box("B", "Put"))
    assert relay.structural_hash(box("A", "Put")) == relay.structural_hash(box("B", "Put"))
    with pytest.raises(ValueError, match="different definitions"):
        relay.assert_structural_equal(box("A", "Put"), box("A", "Keep"))


def test_function_types_with_renamed_type_parameters_are_equal():
    a, b = relay.TypeVar("A"), relay.TypeVar("B")
    fn = relay.FuncType
    assert fn([a, b], a, [a, b]) == fn([b, a], b, [b, a])
    assert hash(fn([a], a, [a])) == hash(fn([b], b, [b]))
    assert fn([a, b], a, [a, b]) != fn([a, b], b, [a, b])
    assert fn([a], a, [a]) != fn([a], a)
    shape = relay.TypeVar("S", relay.TypeKind.ShapeVar)
    assert fn([], a, [a]) != fn([], shape, [shape])
    # The outer type's parameter occurs in the inner type, which has a parameter too.
    assert fn([fn([a], b, [a])], b, [b]) == fn([fn([b], a, [b])], a, [a])
    assert fn([fn([a], b, [a])], b, [b]) != fn([fn([a], a, [a])], b, [b])


def test_variables_in_attributes_are_equal_if_their_binders_are():
    def keyed(name: str, which: int) -> relay.Function:
        params = [relay.var(name, shape=(2,)), relay.var(f"{name}_other", shape=(2,))]
        return relay.Function(params, params[0], attrs={"key": params[which]})

    relay.assert_structural_equal(keyed("a", 0), keyed("b", 0))
    assert relay.structural_hash(keyed("a", 0)) == relay.structural_hash(keyed("b", 0))
    with pytest.raises(ValueError, match="attribute 'key'"):
        relay.assert_structural_equal(keyed("a", 0), keyed("b", 1))


@pytest.mark.parametrize("key", [lambda v: v, lambda v: v.vid], ids=["variable", "vid"])
def test_variables_may_be_keys_of_attributes(key):
    def counted(name: str, number: int) -> relay.Function:
        x = relay.var(name, shape=(2,))
        return relay.Function([x], x, attrs={"count": {key(x): number}})

    relay.assert_structural_equal(counted("a", 1), counted("b", 1))
    assert relay.structural_hash(counted("a", 1)) == relay.structural_hash(counted("b", 1))
    assert not relay.structural_equal(counted("a", 1), counted("b", 2))


def test_constraints_of_a_function_type_are_compared():
    def generic(func: str) -> relay.FuncType:
        a, b = relay.TypeVar("a"), relay.TypeVar("b")
        relation = relay.TypeRelation(func, [a, b], 1, None)
        return relay.FuncType([a], b, [a, b], [relation])

    assert generic("Identity") == generic("Identity")
    assert hash(generic("Identity")) == hash(generic("Identity"))
    assert generic("Identity") != generic("Broadcast")
    one = generic("Identity")
    assert one != relay.FuncType(one.arg_types, one.ret_type, one.type_params)


def test_type_arguments_are_hashed_except_for_operators():
    f, x = relay.var("f"), relay.var("x")

    def hash_of(callee: relay.Expr, size: int) -> int:
        call = relay.Call(callee, [x], type_args=[relay.TensorType((size,))])
        return relay.structural_hash(relay.Function([f, x], call))

    assert hash_of(f, 1) == hash_of(f, 1) != hash_of(f, 2)
    assert hash_of(relay.Op.get("abs"), 1) == hash_of(relay.Op.get("abs"), 2)


def test_functions_with_renamed_type_parameters_have_equal_hashes():
    def identity(name: str) -> relay.Function:
        ty = relay.TypeVar(name)
        x = relay.Var("x", ty)
        return relay.Function([x], x, ty, [ty])

    assert relay.structural_equal(identity("A"), identity("B"))
    assert relay.structural_hash(identity("A")) == relay.structural_hash(identity("B"))


def test_dtype_without_bits_gets_the_default_bits_of_tvm() -> None:
    assert relay.TensorType((2,), "int") == relay.TensorType((2,), "int32")
    assert relay.TensorType((2,), "uint").dtype == "uint32"
    assert relay.TensorType((), "uint1").dtype == "bool"
    assert relay.cast(relay.var("x", shape=(2,), dtype="float"), "int").attrs.dtype == "int32"


def test_failed_assertion_has_the_message_of_tvm() -> None:
    x = relay.var("x", shape=(2,))
    left, right = (
        relay.IRModule.from_expr(relay.Function([x], relay.clip(relay.abs(x), 0, most)))
        for most in (1, 2)
    )
    with pytest.raises(ValueError, match="a_max") as raised:
        relay.assert_structural_equal(left, right)
    path = '<root>.functions[I.GlobalVar("main")].body'
    said = str(raised.value)
    assert said.startswith(f"StructuralEqual check failed, caused by lhs at {path}:\n")
    assert f"\nand rhs at {path}:\n" in said


def test_free_variables_stay_equal_when_they_get_types() -> None:
    """As in TVM, whose variables are equal if their `vid` is; the hash agrees."""
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    expr = relay.add(relay.nn.relu(x), y)
    inferred = infer_module(IRModule.from_expr(expr))["main"]
    assert inferred.params[0] is not x
    assert structural_equal(inferred.body, expr)
    assert structural_hash(inferred.body) == structural_hash(expr)
    other = relay.var("x", shape=(2, 3))
    assert not structural_equal(relay.nn.relu(x), relay.nn.relu(other))
    assert not structural_equal(relay.add(x, y), relay.add(y, x))
    assert structural_equal(relay.nn.relu(x), relay.nn.relu(other), map_free_vars=True)


def test_free_variable_differs_from_one_that_the_other_side_binds() -> None:
    x, y = relay.var("x"), relay.var("y")
    inner = relay.Function([x], relay.nn.relu(x))
    assert not structural_equal(inner, relay.Function([y], relay.nn.relu(x)))
    assert not structural_equal(relay.Function([y], relay.nn.relu(x)), inner)


@pytest.mark.oracle
def test_tvm_gives_the_same_results_for_typed_and_for_new_free_variables() -> None:
    """In TVM, an expression equals its typed copy, but not a copy with new variables."""
    answers = asked_of_tvm(
        """
        x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
        expr = relay.add(relay.nn.relu(x), y)
        mod = relay.transform.InferType()(tvm.IRModule.from_expr(expr))
        equal, other = tvm.ir.structural_equal, relay.var("x", shape=(2, 3))
        print(equal(mod["main"].body, expr), equal(relay.nn.relu(x), relay.nn.relu(other)))
        """
    )
    assert answers == "True False"


def asked_of_tvm(program: str) -> str:
    """The output of a program in the oracle's Python."""
    text = f"import tvm\nfrom tvm import relay\n{dedent(program)}"
    command = [str(python_path()), "-c", text]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return found.stdout.strip()
