"""Types of constructors, matches and pattern variables; errors and their locations."""

from __future__ import annotations

import pytest

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.typing.infer import infer_expr, infer_module

HEADER = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil }\n"


def typed(text: str) -> tvm.IRModule:
    return relay.parse(HEADER + LIST + text)


def test_constructor_call_has_the_type_of_its_data_type():
    mod = typed("def @main() { Cons(1, Cons(2, Nil)) }")
    ints = relay.TypeCall(relay.GlobalTypeVar("List"), [relay.scalar_type("int32")])
    call = mod["main"].body
    assert mod["main"].ret_type == call.checked_type == call.args[1].checked_type == ints
    assert call.type_args == (relay.scalar_type("int32"),)


def test_call_of_a_generic_function_has_inferred_type_arguments():
    text = "def @pair[A, B](%a: A, %b: B) -> (A, B) { (%a, %b) }\ndef @main() { @pair(1, 2f) }"
    call = typed(text)["main"].body
    assert list(map(str, call.type_args)) == ["int32", "float32"]
    assert str(call.checked_type) == "(int32, float32)"


def test_given_type_arguments_are_used():
    mod = typed("def @id[A](%a: A) -> A { %a }")
    call = relay.Call(mod.get_global_var("id"), [relay.const(1)])
    given = relay.Call(call.op, call.args, type_args=[relay.scalar_type("float32")])
    assert str(infer_expr(call, mod).checked_type) == "int32"
    with pytest.raises(TypeInferenceError, match="found int32, expected float32"):
        infer_expr(given, mod)
    with pytest.raises(TypeInferenceError, match="expected 1 type arguments, found 2"):
        infer_expr(relay.Call(call.op, call.args, type_args=given.type_args * 2), mod)


def test_pattern_variables_get_types():
    mod = typed(
        "def @main(%l: List[(int32, bool)]) { match (%l) { Cons((%a, _), %r) => %a, Nil => 0 } }"
    )
    a, rest = mod["main"].body.clauses[0].lhs.vars
    assert str(a.checked_type) == str(a.type_annotation) == "int32"
    assert str(rest.checked_type) == "List[(int32, bool)]"


def test_recursive_function_needs_no_declared_result():
    text = "def @len[A](%l: List[A]) { match (%l) { Nil => 0, Cons(_, %r) => add(1, @len(%r)) } }"
    assert str(typed(text)["len"].ret_type) == "int32"


def test_type_of_an_empty_list_stays_incomplete():
    mod = typed("def @main() { Nil }")
    assert str(mod["main"].ret_type) == "List[_]"
    assert relay.transform.InferType()(mod)["main"].ret_type == mod["main"].ret_type


def test_second_inference_changes_nothing():
    mod = typed("def @main(%l: List[int8]) { match (%l) { Nil => { %l }, Cons(_, %r) => { %r } } }")
    assert relay.transform.InferType()(mod)["main"] is mod["main"]


@pytest.mark.parametrize(
    "body, place, message",
    [
        ("match (%l) { Nil => 0 }", "4:1", "match does not handle Cons(_, _)"),
        ("match (%l) { Cons(%a) => %a, _ => 1 }", "4:14", "has 1 fields, expected 2"),
        ("match (%l) { Nil => 0f, Cons(%a, _) => %a }", "4:25", "found int32, expected float32"),
        ("match (1) { Nil => 0, _ => 1 }", "4:13", "found int32, expected List[_]"),
        ("match (%l) { (_, _) => 0 }", "4:14", "found List[int32], expected (_, _)"),
        ("match (%l) { %a: int32 => %a }", "4:14", "found List[int32], expected int32"),
        ("Cons(1, Cons(2f, Nil))", "4:1", "argument 1: found float32, expected int32"),
        ("Cons(1)", "4:1", "too few arguments: expected 2, found 1"),
        ("let %x: List = %l; %x", "4:5", "List takes 1 types, found 0: List[]"),
    ],
)
def test_type_error_in_a_match_names_its_source_location(body: str, place: str, message: str):
    with pytest.raises(TypeInferenceError) as caught:
        typed(f"def @main(%l: List[int32]) {{\n{body} }}")
    assert str(caught.value).startswith(f"from_string:{place}: "), str(caught.value)
    assert message in str(caught.value)


def test_match_with_a_question_mark_may_leave_cases_out():
    mod = typed("def @main(%l: List[int32]) { match? (%l) { Nil => 0 } }")
    assert str(mod["main"].ret_type) == "int32"


def test_module_must_define_the_types_it_uses():
    mod = typed("def @main() { Cons(1, Nil) }")
    bare = tvm.IRModule({"main": mod["main"].with_attr("x", 1)})
    fresh = relay.Call(mod["main"].body.op, mod["main"].body.args)
    with pytest.raises(TypeInferenceError, match="type List, which the module lacks"):
        infer_expr(fresh, bare)


def test_function_with_a_more_general_type_is_accepted():
    text = "def @f(%c: fn (int32, List[int32]) -> List[int32]) { %c(1, Nil) }\n"
    assert str(typed(text + "def @main() { @f(Cons) }")["main"].ret_type) == "List[int32]"


def test_applied_type_constructor_has_the_kind_of_a_type():
    mod = typed("def @main() { 0 }")
    name, a = mod.get_global_type_var("List"), relay.TypeVar("A")
    kind = relay.TypeKind
    for ty, expected in (
        (name, kind.AdtHandle),
        (name(a), kind.Type),
        (mod[name], kind.TypeData),
        (relay.TupleType([a, name(name(a))]), kind.Type),
        (relay.TypeVar("S", kind.ShapeVar), kind.ShapeVar),
        (relay.TypeRelation(None, [a, name(a)], 1, None), kind.Constraint),
    ):
        assert relay.analysis.check_kind(ty, mod) == expected
    for ty, message in (
        (name(), "takes 1 types, found 0"),
        (name(name), "List is the name of a data type"),
        (relay.TupleType([name]), "List is the name of a data type"),
        (a(a), "expected the name of a data type"),
        (relay.GlobalTypeVar("Tree")(), "no type is named Tree; the module defines List"),
        (relay.TupleType([relay.TypeVar("S", kind.ShapeVar)]), "S is of kind ShapeVar"),
    ):
        with pytest.raises(TypeInferenceError, match=message):
            relay.analysis.check_kind(ty, mod)


def test_generic_function_without_a_declared_result_is_inferred_for_each_call():
    mod = relay.parse(
        """#[version = "0.0.5"]
        def @main(%x: int32) { (@pair(%x), @pair(True)) }
        def @pair[A](%x: A) { (%x, %x) }"""
    )
    assert str(mod["main"].ret_type) == "((int32, int32), (bool, bool))"
    assert str(mod["pair"].checked_type) == "fn [A](A) -> (A, A)"


def test_called_parameter_is_typed_as_a_function_of_its_arguments() -> None:
    mod = relay.parse("def @main(%x: int32, %f, %g) { (%f(%x), %g(%f(%x), 1.0f)) }", infer=False)
    hole = relay.parse("def @main(%x: int32, %f) -> int32 { %f(%x) }")
    assert str(hole["main"].checked_type) == "fn (int32, fn (int32) -> int32) -> int32"
    with pytest.raises(TypeInferenceError, match="cannot be inferred"):
        infer_module(mod)  # their results are undetermined


def test_generic_function_keeps_its_type_parameters() -> None:
    text = """
def @id[A](%x: A) -> A { %x }
def @main() { let %f = @id; (%f(1), %f(2.0f)) }
"""
    assert str(relay.parse(text)["main"].ret_type) == "(int32, float32)"
